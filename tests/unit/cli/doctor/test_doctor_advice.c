/* What to do about a finding: wait for a start, or apply the manifests or the chart again. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#include "codec/json.h"

#define PODS "*/kube-system/pods"
#define NODES "/api/v1/nodes"
#define CONTROLLER "*/deployments/plimsoll-controller"
#define EXTENDER "*/deployments/plimsoll-extender"
#define POLICY "*/dynamicschedulerpolicies/default"
#define CREATED(at, program)                                                                       \
        {                                                                                          \
                PODS, "'name': 'plimsoll-" program,                                                \
                        "'creationTimestamp': '" at "', 'name': 'plimsoll-" program                \
        }
#define HELM(release)                                                                              \
        {                                                                                          \
                CONTROLLER, "{'spec': {'replicas'",                                                \
                        "{'metadata': {'annotations': {'meta.helm.sh/release-name': '" release     \
                        "'}}, 'spec': {'replicas'"                                                 \
        }

/* As right after an installation: nothing is ready, and nothing was written. */
static const struct paper_change nothing_yet[] = {
        {CONTROLLER, "'readyReplicas': 2", ""},
        {EXTENDER, "'readyReplicas': 2", ""},
        {NODES, "'annotations'", "'a'"},
        {POLICY, "'InForce'", "'Other'"},
        {"*/plimsoll-controller-?:8090/proxy/metrics", "leader 1", "leader 0"},
};

static size_t count_waiting(struct paper_cluster *paper, const struct paper_change *changes,
                            size_t count) {
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(paper, PAPER_NODES);
        for (size_t i = 0; i < ARRAY_LEN(nothing_yet); i++)
                paper_change(paper, &nothing_yet[i]);
        paper_collect_changed(paper, changes, count, &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        assert_int_equal(report->counts[DOCTOR_WAIT] + report->counts[DOCTOR_FAULT],
                         ARRAY_LEN(nothing_yet));
        return report->counts[DOCTOR_WAIT];
}

TEST(start) {
        static const struct {
                struct paper_change changes[2];
                size_t waiting;
        } rows[] = {
                {{CREATED("2026-03-01T11:59:35Z", "")}, 5},
                {{CREATED("2026-03-01T11:57:00Z", "")}, 5},
                {{CREATED("2026-03-01T11:56:59Z", "")}, 0},
                {{CREATED("2026-03-01T12:00:10Z", "")}, 5}, /* this machine's clock is behind */
                {{CREATED("2026-03-01T12:03:01Z", "")}, 0}, /* by so much that nothing follows */
                {{CREATED("today", "")}, 0},
                {{CREATED("2026-03-01T11:59:35Z", "controller")}, 4},
                {{CREATED("2026-03-01T11:59:35Z", "extender")}, 1},
                /* A replica that is replaced, while the other one runs. */
                {{CREATED("2026-03-01T11:59:35Z", "controller-0"),
                  CREATED("2026-03-01T09:00:00Z", "controller-1")},
                 0},
                {{CREATED("2026-03-01T11:59:35Z", "controller-0")}, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(count_waiting(*state, rows[i].changes, 2), rows[i].waiting);
}

/* One row for each program, without the fixes for faults. */
TEST(start_is_one_row) {
        static const struct paper_change created[] = {CREATED("2026-03-01T11:59:35Z", "")};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        paper_reset(*state, PAPER_NODES);
        for (size_t i = 0; i < ARRAY_LEN(nothing_yet); i++)
                paper_change(*state, &nothing_yet[i]);
        paper_collect_changed(*state, created, 1, &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        doctor_report_print(report, false, out);
        assert_int_equal(fclose(out), 0);
        _cleanup_(freep) char *expected = xasprintf(
                "wait     controller-replicas      plimsoll-controller is starting: its pods were "
                "created 25 s ago\n"
                "         also: policy-in-force, annotations, leader\n"
                "         fix:  kubectl plimsoll doctor --wait=5m\n"
                "wait     extender-replicas        plimsoll-extender is starting: its pods were "
                "created 25 s ago\n"
                "         fix:  kubectl plimsoll doctor --wait=5m\n"
                "%zu checks: %zu ok, 0 unknown, 0 warnings, 0 errors, 5 wait\n",
                report->count, report->count - 5);
        assert_string_equal(text, expected);
}

/* Before the programs can be asked, nothing but the scheduler's configuration is known to be wrong;
 * what is not known once they are ready is unknown. */
TEST(start_without_pages) {
        static const struct paper_change silent[] = {CREATED("2026-03-01T11:59:35Z", ""),
                                                     {"*/proxy/*", NULL, "503"}};

        for (int i = 0; i < 2; i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state, PAPER_NODES);
                for (size_t j = 0; i == 0 && j < 2; j++)
                        paper_change(*state, &nothing_yet[j]);
                paper_collect_changed(*state, silent, ARRAY_LEN(silent), &facts);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                assert_int_equal(report->counts[DOCTOR_FAULT], 0);
                assert_int_equal(report->counts[DOCTOR_WARNING], i);
                assert_int_equal(report->counts[DOCTOR_UNKNOWN] == 0, i == 0);
                assert_int_equal(report->counts[DOCTOR_WAIT] > 0, i == 0);
        }
}

/* Waiting does not help. */
TEST(not_because_of_a_start) {
        static const struct paper_change created[] = {CREATED("2026-03-01T11:59:35Z", "")};
        static const struct paper_fault faults[] = {
                {"controller-replicas", DOCTOR_WARNING, "there is one replica",
                 .changes = {{CONTROLLER, "eplicas': 2", "eplicas': 1"}}},
                {"policy-established", DOCTOR_FAULT, "not established",
                 .changes = {{"*/customresourcedefinitions/*", "True", "False"}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(faults); i++)
                assert_true(paper_is_found(*state, created, 1, &faults[i]));
}

TEST(refused_during_a_start) {
        static const struct paper_change refused[] = {
                CREATED("2026-03-01T11:59:35Z", ""), {"*/services/plimsoll-extender", NULL, "403"}};
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};

        paper_reset(*state, PAPER_NODES);
        paper_change(*state, &nothing_yet[1]);
        paper_collect_changed(*state, refused, ARRAY_LEN(refused), &facts);
        _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
        assert_int_equal(report->counts[DOCTOR_WAIT], 1); /* for the replicas */
        assert_int_equal(report->counts[DOCTOR_UNKNOWN], 1);
}

TEST(helm) {
        static const struct {
                struct paper_change changes[2];
                const char *id, *fix;
        } rows[] = {
                {{{"*/plimsoll-controller-nodes", NULL, NULL}},
                 "node-guard",
                 "kubectl apply -f deploy/base/node-guard.yaml; on Kubernetes 1.29, "
                 "upgrade the cluster first"},
                {{{"*/plimsoll-controller-nodes", NULL, NULL}, HELM("load")},
                 "node-guard",
                 "helm upgrade load deploy/chart -n kube-system --reset-then-reuse-values --set "
                 "nodeGuard.enabled=true; on Kubernetes 1.29, upgrade the cluster first"},
                {{{"*/services/plimsoll-extender", NULL, NULL}},
                 "extender-service",
                 "kubectl apply -k deploy/"},
                {{{"*/services/plimsoll-extender", NULL, NULL}, HELM("load")},
                 "extender-service",
                 "helm upgrade load deploy/chart -n kube-system --reset-then-reuse-values"},
                {{{CONTROLLER, "eplicas': 2", "eplicas': 1"}},
                 "controller-replicas",
                 "kubectl -n kube-system get pods -l app.kubernetes.io/name=plimsoll-controller; "
                 "kubectl -n kube-system scale deploy/plimsoll-controller --replicas=2"},
                {{{CONTROLLER, "eplicas': 2", "eplicas': 1"}, HELM("load")},
                 "controller-replicas",
                 "kubectl -n kube-system get pods -l app.kubernetes.io/name=plimsoll-controller; "
                 "helm upgrade load deploy/chart -n kube-system --reset-then-reuse-values --set "
                 "controller.replicas=2"},
                /* Not to be copied into a shell. */
                {{{"*/services/plimsoll-extender", NULL, NULL}, HELM("a;b")},
                 "extender-service",
                 "kubectl apply -k deploy/"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
                paper_reset(*state, PAPER_NODES);
                paper_collect_changed(*state, rows[i].changes, 2, &facts);
                _cleanup_(freep) struct doctor_report *report = doctor_report_new(&facts);
                json_auto_t *json = doctor_report_json(report);
                const json_t *found = json_find_at(rows[i].id, json_at(json, "checks", NULL), "id",
                                                   NULL);
                assert_string_equal(json_string_at(found, "fix", NULL), rows[i].fix);
        }
}

TEST_GROUP(paper_set_up, paper_tear_down)
