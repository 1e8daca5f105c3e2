/* The factor between what pods use and what they request. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "policy/estimate/pod_load.h"

TEST(factor) {
        struct load_factor factor;
        static const struct {
                double measured, towards;
        } rows[] = {{0.5, 0.5}, {2, 2}, {0, 0.05}, {1e9, 20}, {NAN, 1}, {INFINITY, 1}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const double ratios[] = {rows[i].measured, rows[i].measured};
                pod_load_factor_init(&factor);
                pod_load_factor_move(&factor, 1, ratios);
                assert_float_equal((float)factor.ratio[ESTIMATE_CPU], (float)rows[i].towards, 1e-6);
                pod_load_factor_init(&factor);
                pod_load_factor_move(&factor, POD_LOAD_FACTOR_STEP, ratios);
                assert_float_equal((float)factor.ratio[ESTIMATE_CPU],
                                   (float)(1 + 0.03 * (rows[i].towards - 1)), 1e-6);
                for (int k = 0; k < 1000; k++)
                        pod_load_factor_move(&factor, POD_LOAD_FACTOR_STEP, ratios);
                assert_float_equal((float)factor.ratio[ESTIMATE_MEM], (float)rows[i].towards, 1e-6);
        }
}
