/* What is learned of workloads, and what is expected of a pod of which nothing is known. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "policy/estimate/workload.h"

enum { MINUTE_MS = 60000 };

static const struct load_factor whole = {{1, 1}};
static const struct pod_load half_a_core = {{0.5, 1e9}};

static double learned_cores(const struct workload *workload) {
        return workload_estimate(workload, &half_a_core, &whole, NULL).of[ESTIMATE_CPU];
}

TEST(learning) {
        struct workload_set *workloads = workload_set_new();
        static const double truth[] = {0.1, 1.7};
        struct workload *learned[2];

        for (size_t i = 0; i < 2; i++) {
                learned[i] = workload_set_get(workloads, i ? "d/b" : "d/a", 3, &half_a_core);
                assert_false(workload_is_learned(learned[i]));
                assert_float_equal(
                        workload_estimate(learned[i], &half_a_core, &whole, NULL).of[ESTIMATE_CPU],
                        0.5, 1e-6);
        }
        for (int round = 0; round < 300; round++) {
                double a = floor(draw_ratio() * 7) - 3, b = floor(draw_ratio() * 5) - 2;
                const struct workload_change changes[] = {{learned[0], a}, {learned[1], b}};
                double moved = a * truth[0] + b * truth[1] + (draw_ratio() - 0.5) * 0.2;
                workload_learn(changes, 2, moved, 16, round * MINUTE_MS, &whole);
        }
        for (size_t i = 0; i < 2; i++) {
                if (fabs(learned_cores(learned[i]) - truth[i]) > 0.06)
                        fail_msg("workload %zu: %g, it uses %g", i, learned_cores(learned[i]),
                                 truth[i]);
                assert_true(workload_confidence(learned[i]) > 0.5);
                assert_true(workload_confidence(learned[i]) <= 1);
                workload_unref(workloads, learned[i]);
        }
        assert_int_equal(workload_set_count(workloads), 2); /* what is learned stays */
        workload_set_free(workloads);
}

/* Absurd input teaches nothing that is not a number. */
TEST(absurd) {
        static const double values[] = {0, -1, 1e300, -1e300, INFINITY, -INFINITY, NAN, 1e-300};
        struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);

        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                for (size_t k = 0; k < ARRAY_LEN(values); k++)
                        for (size_t c = 0; c < ARRAY_LEN(values); c++) {
                                const struct workload_change change = {workload, values[k]};
                                workload_learn(&change, 1, values[i], values[c], 0, &whole);
                                if (!isfinite(learned_cores(workload)) ||
                                    learned_cores(workload) <= 0)
                                        fail_msg("%g, %g, %g: %g", values[i], values[k], values[c],
                                                 learned_cores(workload));
                        }
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}

/* One of its pods more, again and again, and each brings so much. */
static void show(struct workload *workload, double cores, int times, int64_t *at_unix_ms) {
        for (int i = 0; i < times; i++) {
                const struct workload_change change = {workload, i % 2 ? -1 : 1};
                workload_learn(&change, 1, change.pods * cores, 16, *at_unix_ms, &whole);
                *at_unix_ms += 3 * (int64_t)MINUTE_MS;
        }
}

/* A release that uses three times as much is learned within hours, however long the one before it
 * ran. */
TEST(change_of_usage) {
        struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        int64_t at_unix_ms = 0;

        show(workload, 1, 500, &at_unix_ms);
        assert_true(fabs(learned_cores(workload) - 1) < 0.02);
        show(workload, 3, 100, &at_unix_ms);
        assert_true(fabs(learned_cores(workload) - 3) < 0.3);
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}

/* One reading that jumps says little of a workload that is known. */
TEST(outlier) {
        struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        int64_t at_unix_ms = 0;

        show(workload, 1, 100, &at_unix_ms);
        show(workload, 15, 1, &at_unix_ms);
        assert_true(learned_cores(workload) < 1.5);
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}

/* Until something is learned, what is expected moves with the cluster, and the first observation
 * starts from there. */
TEST(first_observation) {
        static const struct load_factor third = {{1.0 / 3, 1}};
        struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        const struct workload_change change = {workload, 0.01};
        struct pod_load variance;

        assert_float_equal(workload_estimate(workload, &half_a_core, &third, NULL).of[ESTIMATE_CPU],
                           0.5 / 3, 1e-6);
        (void)workload_estimate(workload, &half_a_core, &third, &variance);
        double before = variance.of[ESTIMATE_CPU];
        workload_learn(&change, 1, 0.01 / 6, 16, 0, &third);
        assert_float_equal(
                workload_estimate(workload, &half_a_core, &third, &variance).of[ESTIMATE_CPU],
                0.5 / 3, 1e-3);
        assert_true(before > 0 && variance.of[ESTIMATE_CPU] > 0);
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}
