/* A fault of the cluster on paper, and what the checks of `doctor` shall say of it. */
#pragma once

#include "paper_cluster.h"

#include "cli/doctor/doctor_check.h"

struct paper_fault {
        const char *check; /* NULL: nothing is found */
        enum doctor_state state;
        const char *what; /* part of the finding */
        struct paper_change changes[PAPER_CHANGES];
        const char *denied[2];
        size_t nodes; /* 0: as usual */
};

static const struct doctor_checks *const paper_chapters[] = {
        &doctor_program_checks, &doctor_policy_checks, &doctor_node_checks, &doctor_metric_checks,
        &doctor_scheduler_checks};

static inline bool paper_is_expected(const struct paper_fault *fault,
                                     const struct doctor_check *check,
                                     const struct doctor_finding *finding) {
        if (fault->check && strcmp(fault->check, check->id) == 0 &&
            finding->state == fault->state && strstr(finding->what, fault->what))
                return true;
        print_error("%s: %s\n", check->id, finding->what);
        return false;
}

/* Return: whether what the checks find is the fault, and nothing else. */
static inline bool paper_is_only(const struct doctor_facts *facts,
                                 const struct paper_fault *fault) {
        size_t count = 0;
        bool is_well = true;

        for (size_t i = 0; i < ARRAY_LEN(paper_chapters); i++)
                for (size_t j = 0; j < paper_chapters[i]->count; j++) {
                        struct doctor_finding finding = {0};
                        paper_chapters[i]->rows[j].fn(facts, &finding);
                        if (finding.state == DOCTOR_OK)
                                continue;
                        count++;
                        is_well &= paper_is_expected(fault, &paper_chapters[i]->rows[j], &finding);
                }
        return is_well && count == (fault->check ? 1 : 0);
}

/* Of the cluster after up to @count changes. */
static inline void paper_collect_changed(struct paper_cluster *paper,
                                         const struct paper_change *changes, size_t count,
                                         struct doctor_facts *ret) {
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < count && changes[i].where; i++)
                paper_change(paper, &changes[i]);
        assert_int_equal(paper_collect(paper, NULL, "", ret, &err), 0);
}

/* In the cluster after @count other changes. */
static inline bool paper_is_found(struct paper_cluster *paper, const struct paper_change *changes,
                                  size_t count, const struct paper_fault *fault) {
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(paper, fault->nodes ? fault->nodes : PAPER_NODES);
        for (size_t i = 0; i < count && changes[i].where; i++)
                paper_change(paper, &changes[i]);
        memcpy(paper->denied, fault->denied, sizeof(paper->denied));
        paper_collect_changed(paper, fault->changes, PAPER_CHANGES, &facts);
        return paper_is_only(&facts, fault);
}
