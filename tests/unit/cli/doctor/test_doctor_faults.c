/* Each fault of an installation is found by its own check, and none where there is none. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

static const char *or_null(const char *cell) {
        return *cell ? cell : NULL;
}

static struct paper_change change_of(const struct rows *rows) {
        const char *old = or_null(rows->cells[1]);

        return (struct paper_change){.where = rows->cells[0],
                                     .old = old,
                                     .new = old ? rows->cells[2] : or_null(rows->cells[2]),
                                     .times = strtoul(rows->cells[3], NULL, 10)};
}

static enum doctor_state state_of(const char *word) {
        static const char *const words[] = {[DOCTOR_OK] = "",
                                            [DOCTOR_UNKNOWN] = "unknown",
                                            [DOCTOR_WARNING] = "warning",
                                            [DOCTOR_FAULT] = "error"};

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (strcmp(word, words[i]) == 0)
                        return (enum doctor_state)i;
        fail_msg("%s is no state", word);
        return DOCTOR_OK;
}

TEST(one_by_one) {
        size_t bad = 0;

        for (struct rows rows = rows_open("doctor-faults.tsv"); rows_next(&rows);) {
                for (size_t i = 0; i < rows.cell_count; i++)
                        (void)rows_unescape(rows.cells[i]);
                const struct paper_change change = change_of(&rows);
                if (strcmp(rows.cells[0], "=") != 0) {
                        paper_change(*state, &change);
                        continue;
                }
                const struct paper_fault fault = {rows.cells[1], state_of(rows.cells[2]),
                                                  rows.cells[3], rows.cells[4]};
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_collect_changed(*state, NULL, 0, &facts);
                if (!paper_is_only(&facts, &fault)) {
                        print_error("%s: %s\n", rows.place, fault.check);
                        bad++;
                }
                paper_reset(*state);
        }
        assert_int_equal(bad, 0);
}

static bool has_fault(const char *check) {
        bool found = false;

        for (struct rows rows = rows_open("doctor-faults.tsv"); rows_next(&rows);)
                found |= strcmp(rows.cells[0], "=") == 0 && strcmp(rows.cells[1], check) == 0;
        return found;
}

TEST(every_check_has_a_fault) {
        /* With idle CPU and admission. */
        static const struct paper_change changes[] = {
                {"*/dynamicschedulerpolicies/default", "'extender'", "'idle': {}, 'extender'"},
                {"/apis/plimsoll.io/v1alpha1", NULL, "{}"},
                {"*/mutatingadmissionpolic*", NULL, "{}"},
                {"/api/v1/namespaces", "[]", "[{}]"},
        };
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state);
        paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        for (size_t i = 0; i < report->count; i++) {
                const char *id = report->findings[i].id;
                if (!has_fault(id) && strcmp(id, "metrics-pages") != 0)
                        fail_msg("%s has none", id);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
