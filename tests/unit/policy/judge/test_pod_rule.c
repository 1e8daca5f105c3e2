/* Which rule applies to a pod, whatever its labels are. */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "policy/judge/pod_rule.h"
#include "tests/unit/fixture/rows.h"

TEST(labels) {
        for (struct rows rows = rows_open("rule-labels.tsv"); rows_next(&rows);) {
                _cleanup_(freep) char *spec = xasprintf(
                        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                        "  rules: [{match: {labels: {%s}}, exempt: true}]\n",
                        rows.cells[0]);
                _cleanup_(policy_freep) struct policy *policy = policy_of(spec);
                const char *labels = rows.cells[1];
                size_t len = strlen(labels);
                struct pod_facts pod = {.labels = {len ? labels : NULL, len}};
                bool holds = strcmp(rows.cells[2], "yes") == 0;
                if ((pod_rule_find(policy, &pod) != NULL) != holds)
                        fail_msg("%s", rows.place);
                pod.is_daemonset = true;
                assert_null(pod_rule_find(policy, &pod));
        }
}
