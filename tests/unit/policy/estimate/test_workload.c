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

static void teach(const struct workload_change *changes, size_t count, double cores,
                  double capacity, int64_t at_unix_ms) {
        const struct workload_lesson lesson = {1, cores, capacity, at_unix_ms, false};

        workload_learn(changes, count, &lesson, &whole);
}

TEST(learning) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
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
                teach(changes, 2, moved, 16, round * (int64_t)MINUTE_MS);
        }
        /* What jumps by 0.1 says less of one that uses as much. */
        assert_true(workload_confidence(learned[1]) > 0.5);
        assert_true(workload_confidence(learned[0]) < workload_confidence(learned[1]));
        for (size_t i = 0; i < 2; i++) {
                if (fabs(learned_cores(learned[i]) - truth[i]) > 0.06)
                        fail_msg("workload %zu: %g, it uses %g", i, learned_cores(learned[i]),
                                 truth[i]);
                assert_true(workload_confidence(learned[i]) < 1);
                workload_unref(workloads, learned[i]);
        }
        assert_int_equal(workload_set_count(workloads), 2); /* what is learned stays */
}

/* Absurd input teaches nothing that is not a number. */
TEST(absurd) {
        static const double values[] = {0, -1, 1e300, -1e300, INFINITY, -INFINITY, NAN, 1e-300};
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);

        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                for (size_t k = 0; k < ARRAY_LEN(values); k++)
                        for (size_t c = 0; c < ARRAY_LEN(values); c++) {
                                const struct workload_change change = {workload, values[k]};
                                teach(&change, 1, values[i], values[c], 0);
                                if (!isfinite(learned_cores(workload)) ||
                                    learned_cores(workload) <= 0)
                                        fail_msg("%g, %g, %g: %g", values[i], values[k], values[c],
                                                 learned_cores(workload));
                        }
        workload_unref(workloads, workload);
}

/* One of its pods more, again and again, and each brings so much. */
static void show(struct workload *workload, double cores, int times, int64_t *at_unix_ms) {
        for (int i = 0; i < times; i++) {
                const struct workload_change change = {workload, i % 2 ? -1 : 1};
                teach(&change, 1, change.pods * cores, 16, *at_unix_ms);
                *at_unix_ms += 3 * (int64_t)MINUTE_MS;
        }
}

/* A release that uses three times as much is learned within hours, however long the one before it
 * ran. */
TEST(change_of_usage) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        int64_t at_unix_ms = 0;

        show(workload, 1, 500, &at_unix_ms);
        assert_true(fabs(learned_cores(workload) - 1) < 0.02);
        show(workload, 3, 100, &at_unix_ms);
        assert_true(fabs(learned_cores(workload) - 3) < 0.3);
        workload_unref(workloads, workload);
}

/* One reading that jumps says little of a workload that is known. */
TEST(outlier) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        int64_t at_unix_ms = 0;

        show(workload, 1, 100, &at_unix_ms);
        show(workload, 15, 1, &at_unix_ms);
        assert_true(learned_cores(workload) < 1.5);
        workload_unref(workloads, workload);
}

/* Until something is learned, what is expected moves with the cluster, and the first observation
 * starts from there. */
TEST(first_observation) {
        static const struct load_factor third = {{1.0 / 3, 1}};
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        const struct workload_change change = {workload, 0.01};
        struct pod_load variance;

        assert_float_equal(workload_estimate(workload, &half_a_core, &third, NULL).of[ESTIMATE_CPU],
                           0.5 / 3, 1e-6);
        (void)workload_estimate(workload, &half_a_core, &third, &variance);
        double before = variance.of[ESTIMATE_CPU];
        workload_learn(&change, 1, &(struct workload_lesson){1, 0.01 / 6, 16, 0, false}, &third);
        assert_float_equal(
                workload_estimate(workload, &half_a_core, &third, &variance).of[ESTIMATE_CPU],
                0.5 / 3, 1e-3);
        assert_true(before > 0 && variance.of[ESTIMATE_CPU] > 0);
        workload_unref(workloads, workload);
}

/* How many readings it takes until @workload, whose pods use @cores, is within 20%, and stays
 * there; each shows one pod more or less on a node of @capacity. */
static int readings_until_known(double request_cores, double cores, double capacity) {
        enum { READINGS = 2000 };
        const struct pod_load request = {{request_cores, 1e9}};
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &request);
        int known = 0;

        for (int i = 0; i < READINGS; i++) {
                const struct workload_change change = {workload, i % 2 ? -1 : 1};
                teach(&change, 1, change.pods * cores, capacity, i * 3 * (int64_t)MINUTE_MS);
                if (fabs(learned_cores(workload) - cores) > 0.2 * cores)
                        known = i + 1;
        }
        workload_unref(workloads, workload);
        return known + 1;
}
/* What workload.h promises. */
TEST(requests_that_are_wrong) {
        static const struct {
                double request_cores, factor, capacity;
                int readings;
        } rows[] = {
                {0.1, 10, 4, WORKLOAD_READINGS},      {0.1, 10, 16, WORKLOAD_READINGS},
                {0.1, 10, 32, WORKLOAD_READINGS},     {0.1, 40, 4, WORKLOAD_READINGS},
                {0.1, 40, 16, WORKLOAD_READINGS},     {0.1, 40, 64, WORKLOAD_READINGS},
                {0.1, 40, 128, WORKLOAD_READINGS},    {0.5, 10, 16, WORKLOAD_READINGS},
                {0.5, 10, 128, WORKLOAD_READINGS},    {0.5, 40, 32, WORKLOAD_READINGS},
                {4, 10, 64, WORKLOAD_READINGS},       {4, 40, 192, WORKLOAD_READINGS},
                {10, 0.1, 32, WORKLOAD_READINGS},     {40, 0.025, 32, WORKLOAD_READINGS},
                {0.1, 10, 64, 3 * WORKLOAD_READINGS}, {4, 0.025, 16, WORKLOAD_READINGS},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double cores = rows[i].factor * rows[i].request_cores;
                int readings = readings_until_known(rows[i].request_cores, cores, rows[i].capacity);
                if (readings > rows[i].readings)
                        fail_msg("%g cores requested, %g used, of %g: %d readings",
                                 rows[i].request_cores, cores, rows[i].capacity, readings);
        }
}

/* Noise of readings averages out; confidence says how far. */
TEST(confidence_is_kept) {
        enum { WORKLOADS = 400, READINGS = 60 };
        static const double cores[] = {0.05, 0.2, 0.5, 1, 4};
        int confident = 0, wrong = 0;

        for (int w = 0; w < WORKLOADS; w++) {
                _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
                struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
                double uses = cores[w % (int)ARRAY_LEN(cores)];
                for (int i = 0; i < READINGS; i++) {
                        double pods = 1 + floor(draw_ratio() * 4), noise = 0;
                        for (int k = 0; k < 12; k++) /* normal, with a sigma of 1 */
                                noise += k % 2 ? draw_ratio() : -draw_ratio();
                        const struct workload_change change = {workload, pods};
                        teach(&change, 1, pods * uses + 0.03 * 16 * noise, 16,
                              i * (int64_t)MINUTE_MS);
                        if (workload_confidence(workload) < 0.5)
                                continue;
                        confident++;
                        wrong += fabs(learned_cores(workload) - uses) > 0.3 * uses;
                }
                workload_unref(workloads, workload);
        }
        assert_true(confident > WORKLOADS * READINGS / 10);
        assert_true(wrong < confident / 100);
}

/* What is learned in doubt is expected, gives no confidence, and gives way to what is sure. */
TEST(in_doubt) {
        static const struct workload_lesson doubtful = {1, 2, 16, 0, true},
                                            sure = {1, 1, 16, 0, false};
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        const struct workload_change change = {workload, 1};

        for (int i = 0; i < 50; i++)
                workload_learn(&change, 1, &doubtful, &whole);
        assert_true(fabs(learned_cores(workload) - 2) < 0.2);
        assert_true(workload_is_learned(workload) && workload_confidence(workload) == 0);
        workload_set_forget_doubtful(workloads);
        assert_false(workload_is_learned(workload));
        assert_float_equal(learned_cores(workload), 0.5, 1e-6);

        workload_learn(&change, 1, &doubtful, &whole);
        for (int i = 0; i < 100; i++)
                workload_learn(&change, 1, &sure, &whole);
        double known = learned_cores(workload), confidence = workload_confidence(workload);
        assert_true(fabs(known - 1) < 0.1 && confidence > 0.5);
        workload_learn(&change, 1, &doubtful, &whole);
        workload_set_forget_doubtful(workloads);
        assert_true(learned_cores(workload) == known);
        assert_true(workload_confidence(workload) == confidence);
        workload_unref(workloads, workload);

        /* One without pods is then gone. */
        const struct workload_change last = {workload_set_get(workloads, "v", 1, &half_a_core), -1};
        workload_learn(&last, 1, &doubtful, &whole);
        workload_unref(workloads, last.workload);
        assert_int_equal(workload_set_count(workloads), 2);
        workload_set_forget_doubtful(workloads);
        assert_int_equal(workload_set_count(workloads), 1);
}

/* Two workloads that change together are told apart, in whatever order they stand. */
TEST(order_of_changes) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *of[4];
        static const char *const names[] = {"a", "b", "c", "d"};

        for (size_t i = 0; i < 4; i++)
                of[i] = workload_set_get(workloads, names[i], 1, &half_a_core);
        for (int i = 0; i < 200; i++) {
                double a = floor(draw_ratio() * 5) - 2, b = floor(draw_ratio() * 5) - 2;
                const struct workload_change forward[] = {{of[0], a}, {of[1], b}},
                                             backward[] = {{of[3], b}, {of[2], a}};
                teach(forward, 2, a * 0.2 + b * 2, 16, i * (int64_t)MINUTE_MS);
                teach(backward, 2, a * 0.2 + b * 2, 16, i * (int64_t)MINUTE_MS);
        }
        assert_float_equal((float)learned_cores(of[0]), (float)learned_cores(of[2]), 1e-5);
        assert_float_equal((float)learned_cores(of[1]), (float)learned_cores(of[3]), 1e-5);
        assert_true(fabs(learned_cores(of[0]) - 0.2) < 0.04);
        assert_true(fabs(learned_cores(of[1]) - 2) < 0.2);
        for (size_t i = 0; i < 4; i++)
                workload_unref(workloads, of[i]);
}

/* A clock that is set back, or far ahead, makes nothing worse than not known. */
TEST(clock_steps) {
        static const int64_t steps_ms[] = {-3600000, 3600000, -(INT64_C(1) << 50),
                                           INT64_C(1) << 50};
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        int64_t at_unix_ms = 0;

        for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
                show(workload, 1, 40, &at_unix_ms);
                at_unix_ms += steps_ms[i];
                show(workload, 1, 1, &at_unix_ms);
                assert_true(fabs(learned_cores(workload) - 1) < 0.2);
                assert_true(workload_confidence(workload) >= 0);
        }
        workload_unref(workloads, workload);
}

/* A node that is wrong about its pods does not decide what others expect, however often it teaches
 * and however much it is wrong; of a workload that no other node teaches, nobody knows better. */
TEST(one_node_of_many) {
        enum { WRONG = 1 };
        static const struct {
                uint32_t right_nodes;
                double from, to;
        } rows[] = {{20, 0.4, 1.2}, {8, 0.4, 1.2}, {3, 0.4, 1.9}, {1, 0.4, 2.5}, {0, 2, 3}};

        for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
                _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
                struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
                const struct workload_change change = {workload, 1};
                uint32_t right = 0;
                for (int i = 0; i < 400; i++) {
                        bool is_right = rows[row].right_nodes > 0 && i % 4 == 0;
                        const struct workload_lesson lesson = {
                                .teacher = is_right ? WRONG + 1 + right++ % rows[row].right_nodes
                                                    : WRONG,
                                .cores = is_right ? 0.5 : 3,
                                .capacity = 16,
                                .at_unix_ms = i * (int64_t)MINUTE_MS,
                        };
                        workload_learn(&change, 1, &lesson, &whole);
                        if (i > 100 && (learned_cores(workload) < rows[row].from ||
                                        learned_cores(workload) > rows[row].to))
                                fail_msg("row %zu, reading %d: %g cores", row, i,
                                         learned_cores(workload));
                }
                workload_unref(workloads, workload);
        }
}

/* Two nodes that teach in turn both count, and one that goes on alone is heard again. */
TEST(few_nodes) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "w", 1, &half_a_core);
        const struct workload_change change = {workload, 1};

        for (int i = 0; i < 40; i++)
                workload_learn(&change, 1,
                               &(struct workload_lesson){.teacher = 1 + (uint32_t)i % 2,
                                                         .cores = i % 2 ? 1 : 2,
                                                         .capacity = 16},
                               &whole);
        assert_true(fabs(learned_cores(workload) - 1.5) < 0.2);
        for (int i = 0; i < 1000; i++)
                workload_learn(&change, 1,
                               &(struct workload_lesson){.teacher = 1, .cores = 3, .capacity = 16},
                               &whole);
        assert_true(fabs(learned_cores(workload) - 3) < 0.3);
        workload_unref(workloads, workload);
}
