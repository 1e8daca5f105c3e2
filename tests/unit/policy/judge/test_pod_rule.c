/* Which rule applies to a pod, whatever its labels are. */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "policy/judge/pod_rule.h"

TEST(labels) {
        static const struct {
                const char *match, *labels;
                bool holds;
        } rows[] = {
                {"tier: batch", "{\"tier\":\"batch\"}", true},
                {"tier: batch", "{\"a\":{\"tier\":\"x\"},\"tier\":\"batch\"}", true},
                {"tier: batch", "{\"tier\":\"web\",\"tier\":\"batch\"}", true}, /* the last one */
                {"tier: batch", "{\"tier\":\"web\"}", false},
                {"tier: batch", "{\"tier\":7}", false},
                {"tier: batch", "{}", false},
                {"tier: batch", "[\"tier\"]", false},
                {"tier: batch", "", false}, /* a request without a pod */
                /* all of them */
                {"tier: batch, team: a", "{\"tier\":\"batch\",\"team\":\"a\"}", true},
                {"tier: batch, team: a", "{\"tier\":\"batch\",\"team\":\"b\"}", false},
                {"tier: batch, team: a", "{\"tier\":\"web\",\"team\":\"a\"}", false},
                {"tier: batch, team: a", "{\"tier\":\"batch\"}", false},
                /* What no parser lets through. */
                {"tier: batch", "{\"a\":}", false},
                {"tier: batch", "{\"tier\":\"bat", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *spec = xasprintf(
                        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                        "  rules: [{match: {labels: {%s}}, exempt: true}]\n",
                        rows[i].match);
                _cleanup_(policy_freep) struct policy *policy = policy_of(spec);
                size_t len = strlen(rows[i].labels);
                struct pod_facts pod = {.labels = {len ? rows[i].labels : NULL, len}};
                if ((pod_rule_find(policy, &pod) != NULL) != rows[i].holds)
                        fail_msg("row %zu: %s", i, rows[i].labels);
                pod.is_daemonset = true;
                assert_null(pod_rule_find(policy, &pod));
        }
}
