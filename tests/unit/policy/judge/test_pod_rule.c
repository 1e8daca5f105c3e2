/* Which rule applies to a pod, whatever its labels are. */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "policy/judge/pod_rule.h"

TEST(labels) {
        static const struct {
                const char *labels;
                bool holds;
        } rows[] = {
                {"{\"tier\":\"batch\"}", true},
                {"{\"a\":{\"tier\":\"x\"},\"tier\":\"batch\"}", true},
                {"{\"tier\":\"web\",\"tier\":\"batch\"}", true}, /* the last one counts */
                {"{\"tier\":\"web\"}", false},
                {"{\"tier\":7}", false},
                {"{}", false},
                {"[\"tier\"]", false},
                {"", false}, /* a request without a pod */
                /* What no parser lets through. */
                {"{\"a\":}", false},
                {"{\"tier\":\"bat", false},
        };
        _cleanup_(policy_freep) struct policy *policy = policy_of(
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  rules: [{match: {labels: {tier: batch}}, exempt: true}]\n");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t len = strlen(rows[i].labels);
                struct pod_facts pod = {.labels = {len ? rows[i].labels : NULL, len}};
                if ((pod_rule_find(policy, &pod) != NULL) != rows[i].holds)
                        fail_msg("row %zu: %s", i, rows[i].labels);
                pod.is_daemonset = true;
                assert_null(pod_rule_find(policy, &pod));
        }
}

TEST(all_labels) {
        static const struct {
                const char *labels;
                bool holds;
        } rows[] = {
                {"{\"tier\":\"batch\",\"team\":\"a\"}", true},
                {"{\"tier\":\"batch\",\"team\":\"b\"}", false},
                {"{\"tier\":\"web\",\"team\":\"a\"}", false},
                {"{\"tier\":\"batch\"}", false},
        };
        _cleanup_(policy_freep) struct policy *policy = policy_of(
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  rules: [{match: {labels: {tier: batch, team: a}}, exempt: true}]\n");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct pod_facts pod = {.labels = {rows[i].labels, strlen(rows[i].labels)}};
                if ((pod_rule_find(policy, &pod) != NULL) != rows[i].holds)
                        fail_msg("row %zu: %s", i, rows[i].labels);
        }
}
