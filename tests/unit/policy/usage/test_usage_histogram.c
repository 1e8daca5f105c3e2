/* The histogram of usage: buckets, quantiles, and fading. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/attributes.h"
#include "policy/usage/usage_histogram.h"

static const double MIB = 1024 * 1024;

TEST(buckets) {
        static const struct {
                int resource;
                double value;
                size_t bucket;
        } rows[] = {
                {ESTIMATE_CPU, 0, 0},
                {ESTIMATE_CPU, 0.001, 0},
                {ESTIMATE_CPU, 0.00101, 1},
                {ESTIMATE_CPU, 0.00116, 2},
                {ESTIMATE_CPU, 1, 50},
                {ESTIMATE_CPU, 1e9, USAGE_BUCKETS - 1},
                {ESTIMATE_CPU, NAN, 0},
                {ESTIMATE_MEM, 200 * 1024 * 1024.0, 38},
                {ESTIMATE_MEM, 1024 * 1024.0, 0},
                {ESTIMATE_MEM, INFINITY, USAGE_BUCKETS - 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(usage_histogram_bucket(rows[i].resource, rows[i].value),
                                 rows[i].bucket);
}

/* The quantile of values from 0.1 to 10 cores is within a bucket of the truth. */
TEST(quantile) {
        struct usage_histogram histogram = {0};

        assert_true(usage_histogram_quantile(&histogram, ESTIMATE_CPU, 0.95) == 0);
        for (int i = 1; i <= 1000; i++)
                histogram.weights[usage_histogram_bucket(ESTIMATE_CPU, i / 100.0)]++;
        assert_true(usage_histogram_weight(&histogram) == 1000);
        for (int percent = 5; percent <= 100; percent += 5) {
                double value = usage_histogram_quantile(&histogram, ESTIMATE_CPU, percent / 100.0);
                assert_true(value > percent / 10.0 / 1.15 && value < percent / 10.0 * 1.15);
        }
        struct usage_histogram memory = {0};
        memory.weights[usage_histogram_bucket(ESTIMATE_MEM, 700 * MIB)] = 0.25F;
        double value = usage_histogram_quantile(&memory, ESTIMATE_MEM, 0.95);
        assert_true(value > 700 * MIB / 1.15 && value < 700 * MIB * 1.15);
        /* Rounding can leave a rest behind the last bucket. */
        assert_true(usage_histogram_quantile(&memory, ESTIMATE_MEM, 1.1) > 700 * MIB);
}

/* A day ago counts half. */
TEST(fading) {
        struct usage_histogram histogram = {.weights = {[10] = 8}};

        usage_histogram_scale(&histogram, usage_histogram_fade(USAGE_HALF_LIFE_MS));
        assert_float_equal(histogram.weights[10], 4, 1e-6);
        usage_histogram_scale(&histogram, usage_histogram_fade(-1));
        assert_float_equal(histogram.weights[10], 4, 1e-6);
}
