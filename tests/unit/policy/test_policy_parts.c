/* Pools, rules and declared resources: which metrics they use, and how they are compared. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "policy_text.h"
#include "tests/unit/fixture/rows.h"

#define SPEC                                                                                       \
        HEAD "spec:\n"                                                                             \
             "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: gpu_usage_avg_5m, "      \
             "period: "                                                                            \
             "3m}]\n"
#define GPU "name: gpu, series: s, kind: gauge"
#define METRIC(fields) "  metrics: [{" fields "}]\n"

static struct policy *policy_with(const char *spec) {
        _cleanup_(freep) char *text = xasprintf(SPEC "%s", spec);

        return parse(text, true);
}

/* A metric that neither limits nor weighs anything is not used; those of rules are in all pools. */
static void show_uses(const char *text, size_t len, struct buf *out) {
        _cleanup_(policy_freep) struct policy *policy = policy_with(text);
        size_t gpu = (size_t)policy_metric_index(policy, "gpu_usage_avg_5m");

        buf_puts(out, policy_pool_uses(policy, 0, gpu) ? "everywhere" : "");
        if (out->len == 0)
                buf_puts(out, policy_uses(policy, gpu) ? "in a pool" : "-");
        else
                assert_true(policy_uses(policy, gpu));
}

TEST(uses) {
        rows_check("metric-uses.tsv", show_uses);
}

static void show_equality(const char *text, size_t len, struct buf *out) {
        _cleanup_(policy_freep) struct policy *a = policy_with(
                METRIC(GPU ", capacity: 1, match: {a: b}"));
        _cleanup_(policy_freep) struct policy *b = policy_with(text);

        buf_puts(out, policy_resource_equal(&a->resources[0], &b->resources[0]) ? "same" : "-");
}

TEST(resources_are_compared) {
        rows_check("equal-resources.tsv", show_equality);
        /* Two capacities that are read from other series. */
        _cleanup_(policy_freep) struct policy *c = policy_with(METRIC(GPU ", capacitySeries: c"));
        _cleanup_(policy_freep) struct policy *d = policy_with(METRIC(GPU ", capacitySeries: d"));
        assert_false(policy_resource_equal(&c->resources[0], &d->resources[0]));
}
