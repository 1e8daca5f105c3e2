/* Which line a node has, by the limit and the target of its pool. */
#include "tests/unit/fixture/test.h"

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
