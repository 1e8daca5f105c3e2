/* Which line a node has, by the limit and the target of its pool. */
#include "tests/unit/fixture/policy.h"

#include <math.h>

#include "policy/rebalance/rebalance_line.h"

TEST(lines) {
        static const struct {
                double limit_ratio, target_ratio, hot_ratio;
        } rows[] = {
                {0.8, 0, 0.65}, /* as recommended */
                {0.7, 0, 0.65},
                {0.65, 0, 0.65},
                {0.5, 0, 0.5},
                {0.95, 0, 0.8},
                {1, 0, 0.85}, /* nothing limits CPU */
                /* nodes are filled up to a target */
                {0.8, 0.5, 0.65},
                {0.8, 0.8, 0.85},
                {0.95, 0.7, 0.8},
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct rebalance_line line = rebalance_line(rows[i].limit_ratio,
                                                            rows[i].target_ratio);
                if (fabs(line.hot_ratio - rows[i].hot_ratio) > 1e-9)
                        fail_msg("row %zu: %f", i, line.hot_ratio);
                assert_true(fabs(line.cooled_ratio - (line.hot_ratio - 0.02)) < 1e-9);
                assert_true(fabs(line.target_ratio - (line.hot_ratio - 0.05)) < 1e-9);
        }
}

/* The lowest limit on CPU counts; memory and other metrics have no line. */
TEST(pools) {
        static const double hot_ratios[] = {0.5, 0.85};
        struct policy *policy = policy_of(
                "  syncPolicy:\n"
                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                "  - {name: mem_usage_avg_5m, period: 3m}\n"
                "  predicate:\n"
                "  - {name: cpu_usage_avg_5m, maxLimitPercent: 0.8}\n"
                "  - {name: cpu_usage_max_avg_1h, maxLimitPercent: 0.5}\n"
                "  - {name: mem_usage_avg_5m, maxLimitPercent: 0.1}\n"
                "  pools:\n"
                "  - nodeSelector: {disk: ssd}\n"
                "    predicate: [{name: mem_usage_avg_5m, maxLimitPercent: 0.1}]\n");

        for (size_t pool = 0; pool < ARRAY_LEN(hot_ratios); pool++) {
                struct score_weights weights;
                score_weights_init(&weights, policy, pool);
                double hot_ratio = rebalance_line_hot(policy, pool, &weights);
                if (fabs(hot_ratio - hot_ratios[pool]) > 1e-9)
                        fail_msg("pool %zu: %f", pool, hot_ratio);
                assert_true(fabs(rebalance_line_at(hot_ratio).hot_ratio - hot_ratio) < 1e-9);
        }
        policy_free(policy);
}
