/* The factor between what pods use and what they request. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "policy/estimate/pod_load.h"

TEST(factor) {
        struct load_factor factor;
        static const struct {
                double measured, factor;
        } rows[] = {{0.5, 0.5}, {2, 2}, {0, 0.05}, {1e9, 20}, {NAN, 1}, {INFINITY, 1}, {1, 1}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const double ratios[] = {1, rows[i].measured};
                pod_load_factor_init(&factor);
                pod_load_factor_set(&factor, ratios);
                assert_true(factor.ratio[ESTIMATE_CPU] == 1);
                assert_true(factor.ratio[ESTIMATE_MEM] == rows[i].factor);
        }
}
