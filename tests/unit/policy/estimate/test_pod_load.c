/* The cluster's factor, from samples of single nodes. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/estimate/pod_load.h"

static double draw(void) {
        static uint64_t state = 7;

        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (double)(state >> 40) / (double)(1 << 24);
}

static double after(size_t times, double measured_ratio, double requested_ratio) {
        struct load_sample sample = {0};
        struct load_factor factor;

        pod_load_factor_init(&factor);
        for (size_t i = 0; i < times; i++)
                pod_load_factor_sample(&factor, &sample, ESTIMATE_CPU, measured_ratio,
                                       requested_ratio);
        assert_true(factor.ratio[ESTIMATE_MEM] == 1);
        return factor.ratio[ESTIMATE_CPU];
}

TEST(table) {
        static const struct {
                size_t times;
                double measured, requested, wanted;
        } rows[] = {
                {1, 0.3, 0.6, 0.5 / 0.8},
                {1, 0.04, 0.01, 0.24 / 0.21}, /* a node that requests little says little */
                {1000, 0.3, 0.6, 15.2 / 30.2},
                {1000, 0.3, 0.3, 1},
                {1000, 0.8, 0.1, 40.2 / 5.2},
                {1000, 0, 0, 1},
                {1000, 1, 0, 20},
                {1000, 0, 1, 0.05},
                /* More than a node has: cut. */
                {1000, 7, 0.5, 50.2 / 25.2},
                {1000, 0.5, 1e300, 25.2 / 50.2},
                {1000, INFINITY, INFINITY, 1},
                {1000, -1, 0.5, 0.05},
                {1000, -INFINITY, -1e300, 1},
                {1000, NAN, 0.5, 1},
                {1000, 0.5, NAN, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double factor = after(rows[i].times, rows[i].measured, rows[i].requested);
                if (!(fabs(factor - rows[i].wanted) < 1e-6))
                        fail_msg("row %zu: %f, wanted %f", i, factor, rows[i].wanted);
        }
}

/* Against the sums of its formula. */
TEST(formula) {
        enum { SAMPLES = 400 };
        double measured[SAMPLES], requested[SAMPLES];
        struct load_sample sample = {0};
        struct load_factor factor;

        pod_load_factor_init(&factor);
        for (int n = 0; n < SAMPLES; n++) {
                double uses = 0.2, requests = 0.2;
                requested[n] = draw();
                measured[n] = draw() * (n < SAMPLES / 2 ? 1 : 0.1);
                pod_load_factor_sample(&factor, &sample, ESTIMATE_MEM, measured[n], requested[n]);
                for (int i = 0; i <= n; i++) {
                        uses += pow(0.98, n - i) * measured[i];
                        requests += pow(0.98, n - i) * requested[i];
                }
                assert_true(fabs(factor.ratio[ESTIMATE_MEM] - uses / requests) < 1e-9);
        }
        assert_true(factor.ratio[ESTIMATE_MEM] < 0.2); /* what was long ago is forgotten */
}
