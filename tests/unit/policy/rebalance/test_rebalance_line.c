/* Which line a node has, by policy and pool. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>

#include "policy/rebalance/rebalance_line.h"

#define PRIORITY(more) "priority: [{name: cpu_usage_avg_5m, weight: 1" more "}]"
#define LIMIT(limit) "predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: " limit "}]"
/* The nodes of the first pool; those without a pool have the recommended limit. */
#define POOL(words) LIMIT("0.8") ", " PRIORITY("") ", pools: [{nodeSelector: {a: b}, " words "}]"

TEST(lines) {
        static const struct {
                const char *spec;
                size_t pool;
                double hot_ratio;
        } rows[] = {
                {LIMIT("0.8") ", " PRIORITY(""), 0, 0.65}, /* as recommended */
                {LIMIT("0.7") ", " PRIORITY(""), 0, 0.65},
                {LIMIT("0.65") ", " PRIORITY(""), 0, 0.65},
                {LIMIT("0.5") ", " PRIORITY(""), 0, 0.5},
                {LIMIT("0.95") ", " PRIORITY(""), 0, 0.8},
                /* nothing limits CPU */
                {PRIORITY(""), 0, 0.85},
                {LIMIT("0") ", " PRIORITY(""), 0, 0.85},
                {"predicate: [{name: mem_usage_avg_5m, maxLimitPercent: 0.5}], " PRIORITY(""), 0,
                 0.85},
                /* the lowest of two limits */
                {"predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: 0.95}, "
                 "{name: cpu_usage_max_avg_1h, maxLimitPercent: 0.9}], " PRIORITY(""),
                 0, 0.75},
                /* nodes are filled up to a target */
                {LIMIT("0.8") ", " PRIORITY(", target: 0.5"), 0, 0.65},
                {LIMIT("0.8") ", " PRIORITY(", target: 0.8"), 0, 0.85},
                {LIMIT("0.95") ", " PRIORITY(", target: 0.7"), 0, 0.8},
                /* a pool has its own, or those of the policy */
                {POOL("predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: 0.95}]"), 1, 0.8},
                {POOL("predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: 0.95}]"), 0, 0.65},
                {POOL("predicate: []"), 1, 0.85},
                {POOL(PRIORITY(", target: 0.8")), 1, 0.85},
                {POOL(PRIORITY(", target: 0.8")), 0, 0.65},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                int len = snprintf(text, sizeof(text),
                                   "{apiVersion: " POLICY_API_VERSION ", kind: " POLICY_KIND
                                   ", spec: {syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, "
                                   "{name: cpu_usage_max_avg_1h, period: 15m}, "
                                   "{name: mem_usage_avg_5m, period: 3m}], "
                                   "extender: {scoring: estimate}, %s}}",
                                   rows[i].spec);
                struct error err = ERROR_NULL;
                _cleanup_(policy_freep) struct policy *policy = NULL;
                if (policy_parse(text, (size_t)len, true, &policy, &err) < 0)
                        fail_msg("row %zu: %s", i, err.msg);
                struct estimate_terms terms;
                estimate_terms_init(&terms, policy, rows[i].pool);
                struct rebalance_line line = rebalance_line(policy, &terms, rows[i].pool);
                if (fabs(line.hot_ratio - rows[i].hot_ratio) > 1e-9)
                        fail_msg("row %zu: %f", i, line.hot_ratio);
                assert_true(fabs(line.cooled_ratio - (line.hot_ratio - 0.02)) < 1e-9);
                assert_true(fabs(line.target_ratio - (line.hot_ratio - 0.05)) < 1e-9);
        }
}
