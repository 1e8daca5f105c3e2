/* How a policy's priorities are read for scoring: estimate. */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "policy/estimate/score_weights.h"

#define NOW_UNIX_MS INT64_C(1784805954000)

static struct policy *policy_for(const char *priorities) {
        _cleanup_(freep) char *text = xasprintf("  syncPolicy:\n"
                                                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                                "  - {name: cpu_usage_avg_1h, period: 3m}\n"
                                                "  - {name: mem_usage_avg_5m, period: 3m}\n"
                                                "  - {name: mem_usage_max_5m, period: 3m}\n"
                                                "  - {name: disk_usage_avg_5m, period: 3m}\n"
                                                "  - {name: load, period: 3m}\n"
                                                "  priority: [%s]\n",
                                                priorities);

        return policy_of(text);
}

TEST(which_metrics) {
        static const struct {
                const char *priorities;
                int cpu, mem; /* index of the metric */
                double cpu_weight;
                double others[2]; /* of the first two priorities */
                bool has_target;
        } rows[] = {
                {"{name: cpu_usage_avg_5m, weight: 2}", 0, -1, 1},
                /* The shortest mean, wherever it stands. */
                {"{name: cpu_usage_avg_1h, weight: 1}, {name: cpu_usage_avg_5m, weight: 4}", 0, -1,
                 1, .others = {0.25, 0}},
                {"{name: cpu_usage_avg_5m, weight: 1}, {name: cpu_usage_avg_1h, weight: 4}", 0, -1,
                 0.25, .others = {0, 1}},
                /* A priority without a weight takes no part. */
                {"{name: cpu_usage_avg_5m, weight: 0}, {name: cpu_usage_avg_1h, weight: 1}", 1, -1,
                 1},
                {"{name: mem_usage_max_5m, weight: 1}, {name: load, weight: 1}", -1, -1, 0,
                 .others = {1, 1}},
                {"{name: disk_usage_avg_5m, weight: 1}, "
                 "{name: mem_usage_avg_5m, weight: 1, target: 0.5}",
                 -1, 2, 0, .others = {1, 0}, .has_target = true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(policy_freep) struct policy *policy = policy_for(rows[i].priorities);
                struct score_weights weights;
                score_weights_init(&weights, policy, 0);
                assert_int_equal(weights.metric[ESTIMATE_CPU], rows[i].cpu);
                assert_int_equal(weights.metric[ESTIMATE_MEM], rows[i].mem);
                assert_true(weights.weight[ESTIMATE_CPU] == rows[i].cpu_weight);
                assert_true(weights.other_weight[0] == rows[i].others[0]);
                assert_true(weights.other_weight[1] == rows[i].others[1]);
                assert_int_equal(weights.has_target, rows[i].has_target);
        }
}

/* Of the other priorities the largest reading that is usable, times its weight. */
TEST(others) {
        _cleanup_(policy_freep) struct policy *policy = policy_for(
                "{name: cpu_usage_avg_5m, weight: 2}, {name: mem_usage_max_5m, weight: 2}, "
                "{name: disk_usage_avg_5m, weight: 1, target: 0.5}");
        static const struct {
                double mem, disk;
                int64_t mem_expires_ms; /* from now */
                double expected;
        } rows[] = {
                {0.4, 0.5, 1, 0.4},
                {0.4, 0.5, 0, 0}, /* at its target: as good as empty */
                {0.1, 0, 1, 0.25},
                {0.1, 1, 1, 0.5},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double cpu = 1, mem = rows[i].mem, disk = rows[i].disk;
                int64_t later = NOW_UNIX_MS + 1, mem_expires = NOW_UNIX_MS + rows[i].mem_expires_ms;
                const struct reading_columns columns = {
                        .usage_ratio = {&cpu, NULL, NULL, &mem, &disk},
                        .expires_unix_ms = {&later, NULL, NULL, &mem_expires, &later},
                };
                struct score_weights weights;
                score_weights_init(&weights, policy, 0);
                assert_float_equal(
                        (float)score_weights_other(&weights, policy, &columns, 0, NOW_UNIX_MS),
                        (float)rows[i].expected, 1e-6);
        }
}

TEST(missing) {
        _cleanup_(policy_freep) struct policy *policy = policy_for(
                "{name: cpu_usage_avg_5m, weight: 1}, {name: disk_usage_avg_5m, weight: "
                "1}, {name: load, weight: 0}");
        static const struct {
                bool knows_cpu;
                int64_t cpu_expires_ms, disk_expires_ms; /* from now */
                uint8_t expected;
        } rows[] = {
                {true, 1, 1, 0},
                {false, 1, 1, 1u << ESTIMATE_CPU},
                {true, 1, 0, 1u << ESTIMATE_OTHER},
                {false, 0, -1, 1u << ESTIMATE_CPU | 1u << ESTIMATE_OTHER},
                /* The estimate goes on without readings. */
                {true, 0, 1, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t cpu = NOW_UNIX_MS + rows[i].cpu_expires_ms,
                        disk = NOW_UNIX_MS + rows[i].disk_expires_ms, never = 0;
                const struct reading_columns columns = {
                        .expires_unix_ms = {&cpu, NULL, NULL, NULL, &disk, &never},
                };
                const bool is_known[ESTIMATE_RESOURCE_COUNT] = {rows[i].knows_cpu};
                struct score_weights weights;
                score_weights_init(&weights, policy, 0);
                uint8_t missing = score_weights_missing(&weights, policy, &columns, 0, is_known,
                                                        NOW_UNIX_MS);
                assert_int_equal(missing, rows[i].expected);
        }
}

TEST(headroom_without_a_target) {
        const struct score_weights weights = {.weight = {1, 1}};
        const struct score_node node = {.used = {0.5, 0.25}, .own = {score_own(1, 0.125), 0}};
        const struct pod_load load = {{1, 0}};

        assert_float_equal((float)score_weights_headroom(&weights, &node, &load), 25, 1e-6);
}
