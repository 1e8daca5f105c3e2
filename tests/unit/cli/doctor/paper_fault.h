/* A fault of the cluster on paper, and what the checks of `doctor` must say of it. */
#pragma once

#include "paper_cluster.h"

#include "base/mem.h"
#include "cli/doctor/doctor_report.h"

struct paper_fault {
        const char *check; /* "": nothing is found */
        enum doctor_state state;
        const char *what; /* part of the finding */
        const char *fix;  /* NULL, "": whatever */
};

/* Return: whether what the checks find is the fault, and nothing else. */
static inline bool paper_is_only(const struct doctor_facts *facts,
                                 const struct paper_fault *fault) {
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(facts);
        size_t count = 0, others = 0;

        for (size_t i = 0; i < report->count; i++) {
                const struct doctor_finding *finding = &report->findings[i];
                if (finding->state == DOCTOR_OK)
                        continue;
                count++;
                if (strcmp(fault->check, finding->id) == 0 && finding->state == fault->state &&
                    strstr(finding->what, fault->what) &&
                    (!fault->fix || !*fault->fix || strcmp(finding->fix, fault->fix) == 0))
                        continue;
                print_error("%s: %s; %s\n", finding->id, finding->what, finding->fix);
                others++;
        }
        return others == 0 && count == (*fault->check ? 1 : 0);
}

/* Of the cluster after up to @count changes. */
static inline void paper_collect_changed(struct paper_cluster *paper,
                                         const struct paper_change *changes, size_t count,
                                         struct doctor_facts *ret) {
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < count && changes[i].where; i++)
                paper_change(paper, &changes[i]);
        assert_int_equal(paper_collect(paper, ret, &err), 0);
}
