/* Pools, rules and declared resources: which metrics they use, and how they are compared. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "policy_text.h"

#define SPEC                                                                                       \
        HEAD "spec:\n"                                                                             \
             "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: gpu_usage_avg_5m, "      \
             "period: "                                                                            \
             "3m}]\n"
#define GPU "name: gpu, series: s, kind: gauge"
#define POOL(labels) "  pools: [{nodeSelector: {" labels "}}]\n"
#define POOLS(a, b) "  pools: [{nodeSelector: {" a "}}, {nodeSelector: {" b "}}]\n"
#define METRIC(fields) "  metrics: [{" fields "}]\n"

static struct policy *policy_with(const char *spec) {
        _cleanup_(freep) char *text = xasprintf(SPEC "%s", spec);

        return parse(text, true);
}

/* A metric that neither limits nor weighs anything is not used; those of rules are in all pools. */
TEST(uses) {
        static const struct {
                const char *spec;
                bool uses_in_no_pool, uses;
        } rows[] = {
                {"", false, false},
                {"  predicate: [{name: gpu_usage_avg_5m, maxLimitPecent: 0}]\n", false, false},
                {"  predicate: [{name: gpu_usage_avg_5m, maxLimitPecent: 1}]\n", true, true},
                {"  priority:\n"
                 "  - {name: cpu_usage_avg_5m, weight: 1}\n"
                 "  - {name: gpu_usage_avg_5m, weight: 0}\n",
                 false, false},
                {"  priority: [{name: gpu_usage_avg_5m, weight: 1}]\n", true, true},
                {"  pools:\n"
                 "  - nodeSelector: {a: b}\n"
                 "    priority: [{name: gpu_usage_avg_5m, weight: 1}]\n",
                 false, true},
                {"  rules:\n"
                 "  - match: {namespaces: [a]}\n"
                 "    limits: [{name: gpu_usage_avg_5m, maxLimitPecent: 1}]\n",
                 true, true},
                {"  rules:\n"
                 "  - match: {namespaces: [a]}\n"
                 "    limits: [{name: cpu_usage_avg_5m, maxLimitPecent: 1}]\n",
                 false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(policy_freep) struct policy *policy = policy_with(rows[i].spec);
                size_t gpu = (size_t)policy_metric_index(policy, "gpu_usage_avg_5m");
                if (policy_pool_uses(policy, 0, gpu) != rows[i].uses_in_no_pool ||
                    policy_uses(policy, gpu) != rows[i].uses)
                        fail_msg("%s", rows[i].spec);
        }
}

TEST(resources_are_compared) {
        static const char base[] = METRIC(GPU ", capacity: 1, match: {a: b}");
        static const struct {
                const char *other;
                bool is_same;
        } rows[] = {
                {METRIC(GPU ", capacity: 1, match: {a: b}"), true},
                {METRIC("name: xpu, series: s, kind: gauge, capacity: 1, match: {a: b}"), false},
                {METRIC(GPU ", exporter: x, capacity: 1, match: {a: b}"), false},
                {METRIC("name: gpu, series: t, kind: gauge, capacity: 1, match: {a: b}"), false},
                {METRIC("name: gpu, series: s, kind: counter, capacity: 1, match: {a: b}"), false},
                {METRIC(GPU ", reduce: sum, capacity: 1, match: {a: b}"), false},
                {METRIC(GPU ", capacity: 1"), false},
                {METRIC(GPU ", capacity: 2, match: {a: b}"), false},
                {METRIC(GPU ", capacity: 1, match: {c: b}"), false},
                {METRIC(GPU ", capacity: 1, match: {a: c}"), false},
        };
        _cleanup_(policy_freep) struct policy *a = policy_with(base);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(policy_freep) struct policy *b = policy_with(rows[i].other);
                if (policy_resource_equal(&a->resources[0], &b->resources[0]) != rows[i].is_same)
                        fail_msg("%s", rows[i].other);
        }
        /* Two capacities that are read from other series. */
        _cleanup_(policy_freep) struct policy *c = policy_with(METRIC(GPU ", capacitySeries: c"));
        _cleanup_(policy_freep) struct policy *d = policy_with(METRIC(GPU ", capacitySeries: d"));
        assert_false(policy_resource_equal(&c->resources[0], &d->resources[0]));
}
