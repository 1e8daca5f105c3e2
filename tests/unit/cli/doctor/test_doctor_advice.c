/* What to do about a finding: apply the manifests or the chart again. */
#include "tests/unit/fixture/test.h"

#include "paper_fault.h"

#include "codec/json.h"

#define CONTROLLER "*/deployments/plimsoll-controller"
#define HELM(release)                                                                              \
        {                                                                                          \
                CONTROLLER, "{'spec': {'replicas'",                                                \
                        "{'metadata': {'annotations': {'meta.helm.sh/release-name': '" release     \
                        "'}}, 'spec': {'replicas'"                                                 \
        }

TEST(helm) {
        static const struct {
                struct paper_change changes[2];
                const char *id, *fix;
        } rows[] = {
                {{{"*/plimsoll-controller-nodes", NULL, NULL}},
                 "node-guard",
                 "kubectl apply -f deploy/base/node-guard.yaml; on Kubernetes 1.28 and 1.29, "
                 "upgrade the cluster first"},
                {{{"*/plimsoll-controller-nodes", NULL, NULL}, HELM("load")},
                 "node-guard",
                 "helm upgrade load deploy/chart -n kube-system --reset-then-reuse-values --set "
                 "nodeGuard.enabled=true; on Kubernetes 1.28 and 1.29, upgrade the cluster first"},
                {{{"*/services/plimsoll-extender", NULL, NULL}},
                 "extender-service",
                 "kubectl apply -k deploy/"},
                {{{"*/services/plimsoll-extender", NULL, NULL}, HELM("load")},
                 "extender-service",
                 "helm upgrade load deploy/chart -n kube-system --reset-then-reuse-values"},
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
