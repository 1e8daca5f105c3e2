/* What the start of a program excuses, and how findings are shown. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#include "codec/json.h"

#define PODS "*/kube-system/pods"
#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define CREATED(at, program)                                                                       \
        {                                                                                          \
                PODS, "'name': 'plimsoll-" program,                                                \
                        "'creationTimestamp': '" at "', 'name': 'plimsoll-" program                \
        }

/* As right after an installation: nothing is ready, and nothing was written. */
static const struct paper_change nothing_yet[] = {
        {CONTROLLER, "'readyReplicas': 2", ""},
        {EXTENDER, "'readyReplicas': 2", ""},
        {"*/dynamicschedulerpolicies/default", "'InForce'", "'Other'"},
        {"*/plimsoll-extender-?:8010/proxy/metrics", "'usable'} 8", "'usable'} 0"},
        {"*/plimsoll-controller-?:8090/proxy/metrics", "leader 1", "leader 0"},
        {"*/plimsoll-controller-0:8090/proxy/metrics", "version=", "version=\"0\", v="},
};

TEST(start) {
        static const struct {
                struct paper_change changes[2];
                size_t waiting;
        } rows[] = {
                {{CREATED("2026-03-01T11:59:35Z", "")}, 6},
                {{CREATED("2026-03-01T11:57:00Z", "")}, 6},
                {{CREATED("2026-03-01T11:56:59Z", "")}, 0},
                {{CREATED("2026-03-01T12:00:10Z", "")}, 6}, /* this machine's clock is behind */
                {{CREATED("2026-03-01T12:03:01Z", "")}, 0}, /* by so much that nothing follows */
                {{CREATED("today", "")}, 0},
                {{CREATED("2026-03-01T11:59:35Z", "controller")}, 4},
                {{CREATED("2026-03-01T11:59:35Z", "extender")}, 2},
                /* A replica that is replaced, while the other one runs. */
                {{CREATED("2026-03-01T11:59:35Z", "controller-0"),
                  CREATED("2026-03-01T09:00:00Z", "controller-1")},
                 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state);
                for (size_t j = 0; j < ARRAY_LEN(nothing_yet); j++)
                        paper_change(*state, &nothing_yet[j]);
                paper_collect_changed(*state, rows[i].changes, 2, &facts);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                assert_int_equal(report->counts[DOCTOR_WAIT], rows[i].waiting);
                assert_int_equal(report->counts[DOCTOR_FAULT] + report->counts[DOCTOR_WARNING],
                                 6 - rows[i].waiting);
        }
}

/* Waiting does not help. */
TEST(not_because_of_a_start) {
        static const struct {
                struct paper_change changes[2];
                struct paper_fault fault;
        } rows[] = {
                {{CREATED("2026-03-01T11:59:35Z", ""), {CONTROLLER, "eplicas': 2", "eplicas': 1"}},
                 {"controller-replicas", DOCTOR_WARNING, "1 of 1 replicas"}},
                {{CREATED("2026-03-01T11:59:35Z", ""),
                  {"*/services/plimsoll-extender", NULL, NULL}},
                 {"extender-service", DOCTOR_FAULT, "no Service"}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state);
                paper_collect_changed(*state, rows[i].changes, 2, &facts);
                assert_true(paper_is_only(&facts, &rows[i].fault));
        }
}

/* Untrusted text, such as a node's name that a terminal would obey. */
TEST(report) {
        static const struct paper_change changes[] = {
                {PODS, "'spec': {", "'spec': {'nodeName': '\\u001b[2Jn\\u00e9\\u007f', "},
                {"*/services/plimsoll-extender", NULL, "403"}};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        paper_reset(*state);
        paper_collect_changed(*state, changes, ARRAY_LEN(changes), &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        doctor_report_print(report, false, out);
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "are on ?[2Jn??\?\n         why:  a program ends with its"));
        assert_non_null(strstr(text, "unknown  unread "));
        assert_non_null(strstr(text, " 1 unknown, 1 warning, 0 errors\n"));
        json_auto_t *json = doctor_report_json(report);
        const json_t *spread = json_find_at("replicas-spread", json_at(json, "checks", NULL), "id",
                                            NULL);
        assert_non_null(json_string_at(spread, "fix", NULL));
}

TEST_GROUP(paper_set_up, paper_tear_down)
