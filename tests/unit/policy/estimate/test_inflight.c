/* What a reading does not show yet, against a brute-force integral of the window. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/estimate/estimate_terms.h"
#include "policy/estimate/inflight.h"

enum { WINDOW_MS = 300000, STEP_MS = 1000 };

static const struct load_factor whole = {{1, 1}};

/* Pods without an owner: what they request is expected. */
static struct inflight_pod pod(uint64_t id, double cores, int64_t bound_s, int64_t gone_s) {
        return (struct inflight_pod){
                .id = id,
                .request = {{cores, 1e9}},
                .bound_unix_ms = bound_s * 1000,
                .gone_unix_ms = gone_s < 0 ? INFLIGHT_LIVE : gone_s * 1000,
        };
}

static const struct inflight_reading at_1000_s = {.ends_unix_ms = 1000000, .window_ms = WINDOW_MS};

TEST(overlap) {
        static const struct {
                int64_t bound_s, gone_s; /* gone -1: live */
                double overlap;
        } rows[] = {
                {0, -1, 1},
                {700, -1, 1},
                {850, -1, 0.5},
                {1000, -1, 0},
                {1100, -1, 0},
                {0, 500, 0},
                {0, 700, 0},
                {0, 850, 0.5},
                {0, 1000, 1},
                {0, 1100, 1},
                {760, 820, 0.2},
                {900, 1200, 1.0 / 3},
                {1200, 1300, 0},
                {800, 800, 0},
                {900, 800, 0}, /* ends before it begins */
                {INT64_MIN / 4000, -1, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct inflight_pod p = pod(1, 1, rows[i].bound_s, rows[i].gone_s);
                double overlap = inflight_overlap(&p, &at_1000_s);
                if (fabs(overlap - rows[i].overlap) > 1e-9)
                        fail_msg("row %zu: %g, expected %g", i, overlap, rows[i].overlap);
        }
}

/* A node whose pods use exactly what is expected: reading + K is what its live pods use. */

enum { PODS = 60, SPAN_S = 3000 };

struct history {
        struct inflight_pod pods[PODS];
        int64_t shown_s[PODS]; /* when the watch shows a pod's end, which comes after it */
};

static uint64_t seed = 42;

static double draw(void) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (double)(seed >> 11) * 0x1p-53;
}

static double cores_at(const struct history *history, int64_t at_ms) {
        double sum = 0;

        for (size_t i = 0; i < PODS; i++)
                if (history->pods[i].bound_unix_ms <= at_ms &&
                    at_ms < history->pods[i].gone_unix_ms)
                        sum += history->pods[i].request.of[ESTIMATE_CPU];
        return sum;
}

/* The mean over the window, second by second. */
static double mean_cores(const struct history *history, int64_t ends_ms) {
        double sum = 0;

        for (int64_t at = ends_ms - WINDOW_MS; at < ends_ms; at += STEP_MS)
                sum += cores_at(history, at) * STEP_MS / WINDOW_MS;
        return sum;
}

static void check_history(struct history *history) {
        struct inflight node = {.capacity = {{64, 64e9}}};
        struct workload_set *workloads = workload_set_new();
        bool is_bound[PODS] = {0}, is_gone[PODS] = {0};

        for (int64_t now_s = 0; now_s < SPAN_S; now_s++) {
                for (size_t i = 0; i < PODS; i++) {
                        struct inflight_pod p = history->pods[i];
                        if (!is_bound[i] && p.bound_unix_ms <= now_s * 1000) {
                                p.gone_unix_ms = INFLIGHT_LIVE;
                                inflight_bind(&node, workloads, &p, &whole);
                                inflight_bind(&node, workloads, &p,
                                              &whole); /* a relist shows it again */
                                is_bound[i] = true;
                        }
                        if (is_bound[i] && !is_gone[i] &&
                            history->pods[i].gone_unix_ms <= now_s * 1000) {
                                inflight_end(&node, workloads, &history->pods[i], &whole);
                                is_gone[i] = true;
                        }
                }
                if (now_s >= WINDOW_MS / 1000 && (now_s % 97 == 0 || draw() < 0.01))
                        inflight_read(&node, workloads, ESTIMATE_CPU,
                                      &(struct inflight_reading){
                                              .ratio = mean_cores(history, now_s * 1000) / 64,
                                              .ends_unix_ms = now_s * 1000,
                                              .window_ms = WINDOW_MS},
                                      &whole);
                if (node.readings[ESTIMATE_CPU].window_ms == 0)
                        continue;
                double usage = inflight_usage_ratio(&node, ESTIMATE_CPU, &whole) * 64;
                double truth = cores_at(history, now_s * 1000);
                if (fabs(usage - truth) > 1e-6 * (1 + truth))
                        fail_msg("second %lld: %g cores, the pods use %g", (long long)now_s, usage,
                                 truth);
        }
        inflight_done(&node, workloads);
        assert_int_equal(workload_set_count(workloads), 0);
        workload_set_free(workloads);
}

TEST(integral) {
        for (int round = 0; round < 50; round++) {
                struct history history;
                for (size_t i = 0; i < PODS; i++) {
                        int64_t bound_s = (int64_t)(draw() * SPAN_S);
                        int64_t gone_s = bound_s + 1 + (int64_t)(draw() * draw() * SPAN_S);
                        history.pods[i] = pod(i + 1, 0.1 + draw(), bound_s, gone_s);
                }
                check_history(&history);
        }
}

/* Workloads */

static double learned_cores(const struct workload *workload) {
        return workload_estimate(workload, &(struct pod_load){{0.5, 1e9}}, &whole).of[ESTIMATE_CPU];
}

TEST(learning) {
        struct workload_set *workloads = workload_set_new();
        static const double truth[] = {0.1, 1.7};
        struct workload *learned[2];
        const struct pod_load request = {{0.5, 1e9}};

        for (size_t i = 0; i < 2; i++) {
                learned[i] = workload_set_get(workloads, i ? "d/b" : "d/a", 3, &request, &whole);
                assert_false(workload_is_learned(learned[i]));
                assert_float_equal(workload_estimate(learned[i], &request, &whole).of[ESTIMATE_CPU],
                                   0.5, 1e-6);
        }
        for (int round = 0; round < 300; round++) {
                double a = floor(draw() * 7) - 3, b = floor(draw() * 5) - 2;
                const struct workload_change changes[] = {{learned[0], a}, {learned[1], b}};
                double moved = a * truth[0] + b * truth[1] + (draw() - 0.5) * 0.2;
                workload_learn(changes, 2, moved, 16);
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
        const struct pod_load request = {{0.5, 1e9}};
        struct workload *workload = workload_set_get(workloads, "w", 1, &request, &whole);

        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                for (size_t k = 0; k < ARRAY_LEN(values); k++)
                        for (size_t c = 0; c < ARRAY_LEN(values); c++) {
                                const struct workload_change change = {workload, values[k]};
                                workload_learn(&change, 1, values[i], values[c]);
                                if (!isfinite(learned_cores(workload)) ||
                                    learned_cores(workload) <= 0)
                                        fail_msg("%g, %g, %g: %g", values[i], values[k], values[c],
                                                 learned_cores(workload));
                        }
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}

/* Pods that came and went do not pile up where memory is not read, nothing is, or no longer is. */
TEST(forgetting) {
        enum { CHURN = 3000, LIFE_S = 10, WINDOW_S = WINDOW_MS / 1000 };

        for (int kind = 0; kind < 3; kind++) {
                struct workload_set *workloads = workload_set_new();
                struct inflight node = {.capacity = {{64, 64e9}}};
                for (int i = 0; i < CHURN; i++) {
                        int64_t at_s = 10000 + (int64_t)i * LIFE_S;
                        struct inflight_pod one = pod((uint64_t)i + 1, 1, at_s, at_s + LIFE_S);
                        struct inflight_pod live = one;
                        live.gone_unix_ms = INFLIGHT_LIVE;
                        if (kind == 0 || (kind == 1 && i == 0))
                                inflight_read(
                                        &node, workloads, ESTIMATE_CPU,
                                        &(struct inflight_reading){0.5, at_s * STEP_MS, WINDOW_MS},
                                        &whole);
                        inflight_bind(&node, workloads, &live, &whole);
                        inflight_end(&node, workloads, &one, &whole);
                }
                assert_true(node.recent_cap <= 4 * 3 * WINDOW_S / LIFE_S);
                inflight_done(&node, workloads);
                workload_set_free(workloads);
        }
}

TEST(factor) {
        struct load_factor factor;
        static const struct {
                double measured, requested, towards;
        } rows[] = {
                {5, 10, 0.5}, {10, 5, 2}, {0, 10, 0.05}, {1e9, 1, 20}, {5, 0, 1}, {NAN, 1, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct pod_load measured = {{rows[i].measured, rows[i].measured}};
                const struct pod_load requested = {{rows[i].requested, rows[i].requested}};
                pod_load_factor_init(&factor);
                pod_load_factor_move(&factor, &measured, &requested);
                assert_float_equal((float)factor.ratio[ESTIMATE_CPU],
                                   (float)(1 + 0.03 * (rows[i].towards - 1)), 1e-6);
                for (int k = 0; k < 1000; k++)
                        pod_load_factor_move(&factor, &measured, &requested);
                assert_float_equal((float)factor.ratio[ESTIMATE_MEM], (float)rows[i].towards, 1e-6);
        }
}

TEST(score) {
        const struct score_node both = {
                {0.5, 0.7}, {score_own(1, 1.0 / 8), score_own(1, 1 / 32e9)}, 0};
        const struct score_node cpu_alone = {{0.5, 0}, {score_own(1, 1.0 / 8), 0}, 0};
        const struct score_node io = {{0.5, 0.7}, {0, 0}, 0.9};
        const struct pod_load load = {{0.4, 1.6e9}};

        assert_float_equal((float)score_headroom(&both, &load), 20, 1e-5);
        assert_float_equal((float)score_headroom(&cpu_alone, &load), 40, 1e-5);
        assert_float_equal((float)score_headroom(&io, &load), 10, 1e-5);
        assert_int_equal(score_points(40, 40), 10);
        assert_int_equal(score_points(39, 40), 10); /* 9.5 rounds up */
        assert_int_equal(score_points(38.9, 40), 9);
        assert_int_equal(score_points(20, 40), 0);
        assert_int_equal(score_points(-1e300, 40), 0);
}

/* A resource with a target is at its best there; the worst resource decides. */
TEST(packed) {
        const struct pod_load load = {{0.4, 1.6e9}}; /* twice on 8 CPUs and 32 GB: 0.1 */
        static const struct {
                double used[ESTIMATE_RESOURCE_COUNT], target[ESTIMATE_RESOURCE_COUNT], mem_weight;
                double headroom;
        } rows[] = {
                {{0, 0}, {0.5, 0}, 1, 60},        {{0.3, 0}, {0.5, 0}, 1, 90},
                {{0.39, 0.4}, {0.5, 0}, 1, 50},   {{0.5, 0}, {0.5, 0}, 1, 40},
                {{0.39, 0.4}, {0.5, 0.5}, 1, 99}, {{0.39, 0}, {0.5, 0.5}, 1, 60},
                {{0.39, 0}, {0.5, 0.5}, 0.5, 80}, /* 1 - 0.5 * (1 - 0.6) */
                {{1.4, 0}, {0.5, 0}, 1, -50},     {{0.39, 0}, {0.5, 0.5}, 0, 99},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct estimate_terms terms = {.weight = {1, rows[i].mem_weight},
                                               .has_target = true};
                struct score_node node = {
                        .used = {rows[i].used[0], rows[i].used[1] * rows[i].mem_weight},
                        .own = {score_own(1, 1.0 / 8), score_own(rows[i].mem_weight, 1 / 32e9)}};
                memcpy(terms.target_ratio, rows[i].target, sizeof(terms.target_ratio));
                assert_float_equal((float)estimate_terms_headroom(&terms, &node, &load),
                                   (float)rows[i].headroom, 1e-4);
        }
}
