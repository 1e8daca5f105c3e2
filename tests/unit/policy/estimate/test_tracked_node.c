/* Base and pods of a node, against what they really use. */
#include "one_tracked_node.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/fixture/draw.h"

TEST(overlap) {
        static const struct {
                int64_t runs_s, gone_s; /* gone -1: live */
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
                const struct tracked_pod p = {.runs_unix_ms = rows[i].runs_s * STEP_MS,
                                              .gone_unix_ms = rows[i].gone_s < 0
                                                                      ? TRACKED_NEVER
                                                                      : rows[i].gone_s * STEP_MS};
                double overlap = tracked_node_overlap(&p, 700000, 1000000);
                if (fabs(overlap - rows[i].overlap) > 1e-9)
                        fail_msg("row %zu: %g, expected %g", i, overlap, rows[i].overlap);
        }
        const struct tracked_pod waits = {.runs_unix_ms = TRACKED_NEVER,
                                          .gone_unix_ms = TRACKED_NEVER};
        assert_true(tracked_node_overlap(&waits, 700000, 1000000) <= 0);
}

/* A node whose pods use exactly what is expected: the usage is what its live pods use, the second
 * they are bound. */

enum { PODS = 60, SPAN_S = 3000 };

struct past_pod {
        double cores;
        int64_t bound_s, gone_s;
        bool is_bound, is_gone;
};

static double cores_at(const struct past_pod *pods, int64_t at_s) {
        double sum = 0;

        for (size_t i = 0; i < PODS; i++)
                if (pods[i].bound_s <= at_s && at_s < pods[i].gone_s)
                        sum += pods[i].cores;
        return sum;
}

/* The mean over the window, second by second. */
static double mean_cores(const struct past_pod *pods, int64_t ends_s) {
        double sum = 0;

        for (int64_t at_s = ends_s - WINDOW_MS / STEP_MS; at_s < ends_s; at_s++)
                sum += cores_at(pods, at_s) * STEP_MS / WINDOW_MS;
        return sum;
}

static void move_pods(struct fixture *fixture, struct past_pod *pods, int64_t now_s) {
        for (size_t i = 0; i < PODS; i++) {
                if (!pods[i].is_bound && pods[i].bound_s <= now_s) {
                        bind_pod(fixture, i + 1, NULL, pods[i].cores, now_s * STEP_MS);
                        pods[i].is_bound = true;
                }
                if (pods[i].is_bound && !pods[i].is_gone && pods[i].gone_s <= now_s) {
                        end_pod(fixture, i + 1, pods[i].cores, now_s * STEP_MS);
                        pods[i].is_gone = true;
                }
        }
}

static void check_history(struct past_pod *pods) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        for (int64_t now_s = 0; now_s < SPAN_S; now_s++) {
                move_pods(&fixture, pods, now_s);
                if (now_s >= WINDOW_MS / STEP_MS && (now_s % 97 == 0 || draw_ratio() < 0.01))
                        read_cores(&fixture, mean_cores(pods, now_s), now_s * STEP_MS);
                double truth = cores_at(pods, now_s);
                if (fabs(used_cores(&fixture) - truth) > 1e-3)
                        fail_msg("second %lld: %g cores, the pods use %g", (long long)now_s,
                                 used_cores(&fixture), truth);
        }
}

TEST(integral) {
        for (int round = 0; round < 50; round++) {
                struct past_pod pods[PODS] = {0};
                for (size_t i = 0; i < PODS; i++) {
                        pods[i].cores = 0.1 + draw_ratio();
                        pods[i].bound_s = (int64_t)(draw_ratio() * SPAN_S);
                        pods[i].gone_s = pods[i].bound_s + 1 +
                                         (int64_t)(draw_ratio() * draw_ratio() * SPAN_S);
                }
                check_history(pods);
        }
}

/* A pod that pulls its image counts whole, takes nothing from a reading, and teaches nothing. */
TEST(pod_that_waits) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        read_cores(&fixture, 4, now);
        double before = used_cores(&fixture);
        bind_pod(&fixture, 1, "d/w", 3, TRACKED_NEVER);
        for (int i = 0; i < 3; i++) {
                now += SYNC_MS;
                read_cores(&fixture, 4, now);
        }
        assert_float_equal(used_cores(&fixture), before + 3, 0.2);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
        assert_true(tracked_node_start(&fixture.node, 1, now));
        assert_false(tracked_node_start(&fixture.node, 1, now + WINDOW_MS)); /* once counts */
        assert_false(tracked_node_start(&fixture.node, 99, now));
        for (int i = 0; i < 3; i++) {
                now += WINDOW_MS;
                read_cores(&fixture, 5, now);
        }
        assert_float_equal(learned_cores(&fixture, "d/w"), 1, 0.3);
        end_pod(&fixture, 1, 3, now);
        bind_pod(&fixture, 2, "d/w", 3, TRACKED_NEVER);
        end_pod(&fixture, 2, 3, now); /* never ran */
        end_pod(&fixture, 2, 3, now);
        assert_float_equal(used_cores(&fixture), 4, 0.5);
}

static void resize_pod(struct fixture *fixture, uint64_t id, double from, double to) {
        const struct pod_load before = request_of(from), after = request_of(to);

        tracked_node_resize(&fixture->node, id, &before, &after, &whole);
}

/* A pod that requests more is expected to use as much more; where requests follow what is used, and
 * where its workload is learned, it is not. */
TEST(pod_that_is_resized) {
        static const struct {
                double used, from, to, resized; /* cores; by the reading, requested, then used */
        } rows[] = {
                {2, 2, 4, 4}, {4, 4, 2, 2}, /* as expected before */
                {1, 2, 4, 2}, {1, 4, 2, 1},     {4, 2, 4, 4},
                {4, 2, 3, 4},                 /* raised to what it uses */
                {1, 4, 1, 1}, {3, 4, 3.5, 3}, /* lowered to that */
                {4, 2, 8, 8}, {1, 4, 0.1, 0.1}, {2, 2, 2, 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t now = 1000000;
                bind_pod(&fixture, 1, NULL, rows[i].from, now - WINDOW_MS);
                bind_pod(&fixture, 2, NULL, 1, TRACKED_NEVER);
                fixture.node.pods[0].used[ESTIMATE_CPU] = (float)rows[i].used;
                fixture.node.pods_used.of[ESTIMATE_CPU] += rows[i].used - rows[i].from;
                resize_pod(&fixture, 1, rows[i].from, rows[i].to);
                if (!(fabs(used_cores(&fixture) - (rows[i].resized + 1)) < 1e-5))
                        fail_msg("row %zu: %g", i, used_cores(&fixture) - 1);
                assert_float_equal(fixture.node.requested.of[ESTIMATE_CPU], rows[i].to + 1, 1e-6);
                assert_float_equal(fixture.node.requested.of[ESTIMATE_MEM], 2e9, 1e-6);
                /* It is not known how much more it will be: the next readings say it. */
                double moved = rows[i].resized - rows[i].used;
                assert_true((double)fixture.node.pods[0].variance[ESTIMATE_CPU] >=
                            moved * moved * 0.999);
                end_pod(&fixture, 1, rows[i].to, now);
                resize_pod(&fixture, 1, rows[i].to, 50); /* gone */
                resize_pod(&fixture, 99, 1, 50);
                assert_float_equal(used_cores(&fixture), 1, 1e-5);
                assert_float_equal(fixture.node.requested.of[ESTIMATE_CPU], 1, 1e-6);
        }
}

TEST(learned_pod_that_is_resized) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        read_cores(&fixture, 4, now);
        for (uint64_t id = 1; id <= 4; id++) {
                bind_pod(&fixture, id, "d/w", 3, now);
                now += WINDOW_MS;
                read_cores(&fixture, 4 + (double)id, now);
        }
        double before = used_cores(&fixture);
        assert_true(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
        resize_pod(&fixture, 4, 3, 6);
        assert_float_equal(used_cores(&fixture), before, 1e-5);
        assert_float_equal(fixture.node.requested.of[ESTIMATE_CPU], 15, 1e-6);
}

/* A pod that the readings held before anybody knew of it was taken for base, and is no longer; its
 * workload is not taught that nothing came with it. */
TEST(pod_that_is_known_late) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        for (int i = 0; i < 20; i++, now += SYNC_MS)
                read_cores(&fixture, 6, now);
        bind_pod(&fixture, 1, "d/w", 2, 0);
        assert_float_equal(used_cores(&fixture), 6, 0.2);
        assert_float_equal(base_cores(&fixture), 4, 0.2);
        read_cores(&fixture, 6, now);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
}

/* An extender that starts again knows since when pods run, so what its first reading holds of them:
 * the second one teaches what has come since. */
TEST(second_reading_teaches) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        read_cores(&fixture, 1, 1000000);
        bind_pod(&fixture, 1, "d/w", 1, 1000000 - WINDOW_MS / 2);
        read_cores(&fixture, 2, 1000000 + WINDOW_MS / 2);
        assert_true(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
        assert_true(learned_cores(&fixture, "d/w") >
                    1.1); /* it used two, and was expected to use one */
}

/* When all pods are known, the reading that was there before them is shared again. */
TEST(begin_again) {
        static const struct cluster_load tenth = {{{0.1, 1}}, {0}};
        const struct pod_load request = request_of(1);
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        tracked_node_begin_again(&fixture.node, &whole);
        for (uint64_t id = 1; id <= 10; id++)
                bind_pod(&fixture, id, NULL, 1, 0);
        read_cores(&fixture, 2, 1000000);
        for (uint64_t id = 11; id <= 20; id++)
                bind_pod(&fixture, id, NULL, 1, 0);
        bind_pod(&fixture, 21, NULL, 1, 1000000);
        assert_true(used_cores(&fixture) > 10);
        for (uint64_t id = 1; id <= 22; id++)
                tracked_node_expect_again(&fixture.node, id, &request, &tenth);
        tracked_node_begin_again(&fixture.node, &tenth);
        assert_float_equal((float)used_cores(&fixture), (float)(2 + 0.1), 1e-6);
}

/* What no reading is, and pods of which nothing more can be learned, leave numbers as they are. */
TEST(nothing_to_share) {
        struct fixture infinite = begin_fixture(), sure = begin_fixture();

        read_cores(&infinite, INFINITY, 1000000);
        assert_float_equal(used_cores(&infinite), 0, 1e-9);
        read_cores(&infinite, 4, 1000000 + SYNC_MS);
        assert_true(used_cores(&infinite) > 0 && used_cores(&infinite) <= 4);
        bind_pod(&sure, 1, NULL, 8, 0);
        sure.node.pods[0].variance[ESTIMATE_CPU] = 0;
        read_cores(&sure, 2, 1000000);
        assert_float_equal(used_cores(&sure), 8, 1e-6);
        end_fixture(&infinite);
        end_fixture(&sure);
}

/* Readings that jump are believed less than those that do not. */
TEST(noise) {
        struct fixture steady = begin_fixture(), noisy = begin_fixture();
        int64_t now = 1000000;

        for (int i = 0; i < 200; i++, now += SYNC_MS) {
                read_cores(&steady, 20, now);
                read_cores(&noisy, 20 + (i % 2 ? 12 : -12), now);
        }
        assert_true(noisy.node.noise.of[ESTIMATE_CPU] > 4 * steady.node.noise.of[ESTIMATE_CPU]);
        read_cores(&steady, 24, now);
        read_cores(&noisy, 24, now);
        assert_true(fabs(used_cores(&steady) - 20) > fabs(used_cores(&noisy) - 20));
        end_fixture(&steady);
        end_fixture(&noisy);
}

/* Without pods the first reading is the base, however far that is from what was expected. */
TEST(first_reading) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        read_cores(&fixture, 60, 1000000);
        assert_float_equal(used_cores(&fixture), 60, 1e-6);
        /* Pods that use less than they request leave nothing to the base. */
        struct fixture idle = begin_fixture();
        bind_pod(&idle, 1, NULL, 20, 0);
        read_cores(&idle, 2, 1000000);
        assert_float_equal((float)used_cores(&idle), 2, 1e-6);
        end_fixture(&idle);
        read_cores(&fixture, 20, 1000000 + SYNC_MS); /* from then on jumps are not believed whole */
        assert_true(used_cores(&fixture) > 50);
}

/* A pod without an owner that comes with one of a workload is no part of what the workload uses. */
TEST(bare_pod) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        for (int i = 0; i < 10; i++, now += SYNC_MS)
                read_cores(&fixture, 4, now);
        bind_pod(&fixture, 1, NULL, 8, now);
        bind_pod(&fixture, 2, "d/w", 1, now);
        for (int i = 0; i < 3; i++) {
                now += WINDOW_MS;
                read_cores(&fixture, 12.2, now);
        }
        assert_true(learned_cores(&fixture, "d/w") < 1.5);
}

/* Pods that came and went do not pile up where memory is not read, nothing is, or no longer is. */
TEST(forgetting) {
        enum { CHURN = 3000, LIFE_S = 10 };

        for (int kind = 0; kind < 3; kind++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                for (int i = 0; i < CHURN; i++) {
                        int64_t at_ms = (10000 + (int64_t)i * LIFE_S) * STEP_MS;
                        if (kind == 0 || (kind == 1 && i == 0))
                                read_cores(&fixture, 32, at_ms);
                        bind_pod(&fixture, (uint64_t)i + 1, NULL, 1, at_ms);
                        end_pod(&fixture, (uint64_t)i + 1, 1, at_ms + LIFE_S * STEP_MS);
                }
                assert_true(fixture.node.pod_cap <= 512);
        }
}

/* A pod that was gone and comes again, as with a backup of the API server, can go again. */
TEST(comes_again) {
        const int64_t at = 1000000;
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, NULL, 1, 0);
        bind_pod(&fixture, 2, NULL, 1, 0);
        end_pod(&fixture, 1, 1, at);
        end_pod(&fixture, 2, 1, at + TRACKED_UNREAD_MS);
        bind_pod(&fixture, 2, NULL, 1, 0);
        read_cores(&fixture, 1, at + TRACKED_UNREAD_MS + 1); /* the first is forgotten */
        assert_int_equal(fixture.node.pod_count, 2);
        end_pod(&fixture, 2, 1, at + TRACKED_UNREAD_MS + 2);
        assert_int_equal(fixture.node.gone_count, 2);
        assert_true(fixture.node.pods_used.of[ESTIMATE_CPU] == 0);
}

/* More pods that went, and more workloads, than a node is expected to have. */
TEST(ceilings) {
        enum { WORKLOADS = TRACKED_MAX_CHANGES + 6, GONE = TRACKED_MAX_GONE + 10 };
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        char name[32];
        int learned = 0;

        read_cores(&fixture, 0, 1000000);
        for (int i = 0; i < WORKLOADS; i++) {
                (void)snprintf(name, sizeof(name), "d/w%d", i);
                bind_pod(&fixture, (uint64_t)i + 1, name, 1, 1000000);
        }
        read_cores(&fixture, 32, 1000000 + WINDOW_MS);
        for (size_t i = 0; i < fixture.node.pod_count; i++)
                learned += workload_is_learned(fixture.node.pods[i].workload);
        assert_int_equal(learned, TRACKED_MAX_CHANGES);
        for (uint64_t id = WORKLOADS + 1; id <= WORKLOADS + GONE; id++) {
                bind_pod(&fixture, id, NULL, 1, 1000000 + WINDOW_MS);
                end_pod(&fixture, id, 1, 1000001 + WINDOW_MS);
        }
        assert_int_equal(fixture.node.gone_count, TRACKED_MAX_GONE);
        assert_int_equal(fixture.node.pod_count, WORKLOADS + TRACKED_MAX_GONE);
}

/* More workloads come in one window than a reading teaches: what the pods of the last one are
 * expected to use is not learned of the others. */
TEST(more_workloads_than_are_taught) {
        enum { SMALL = TRACKED_MAX_CHANGES };
        static const struct workload_facts known = {"d/large", 7, 0, 30, true, 30, 0.99};
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        char name[32];

        workload_set_import(fixture.workloads, &known);
        read_cores(&fixture, 0, 1000000);
        for (int i = 0; i < SMALL; i++) {
                (void)snprintf(name, sizeof(name), "d/w%d", i);
                bind_pod(&fixture, (uint64_t)i + 1, name, 0.1, 1000000);
        }
        bind_pod(&fixture, SMALL + 1, known.name, 30, 1000000);
        read_cores(&fixture, 30 + 0.1 * SMALL, 1000000 + WINDOW_MS);
        for (size_t i = 0; i < SMALL; i++) {
                double cores = workload_estimate(fixture.node.pods[i].workload,
                                                 &(struct pod_load){{0.1, 1e9}}, &whole.factor,
                                                 NULL)
                                       .of[ESTIMATE_CPU];
                if (fabs(cores - 0.1) > 0.01)
                        fail_msg("%g cores", cores);
        }
}

/* Without a capacity readings say nothing; without a reading a node has the cluster's base. */
TEST(unread) {
        static const struct cluster_load tenth = {{{0.5, 1}}, {0.1, 0.2}};
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        const struct pod_load request = request_of(8);

        tracked_node_bind(&fixture.node, 1, NULL, &request, 0, &tenth);
        assert_float_equal((float)tracked_node_usage_ratio(&fixture.node, ESTIMATE_CPU, &tenth),
                           (float)(0.1 + 4 / CORES), 1e-6);
        fixture.node.capacity = (struct pod_load){0};
        read_cores(&fixture, 4, 1000000);
        assert_int_equal(fixture.node.readings[ESTIMATE_CPU].window_ms, 0);
        assert_true(tracked_node_usage_ratio(&fixture.node, ESTIMATE_CPU, &tenth) <= 0);
}

static double margin_cores(const struct fixture *fixture) {
        return CORES * tracked_node_margin_ratio(&fixture->node, ESTIMATE_CPU);
}

/* Of pods that nobody knows it is wide; a reading narrows it, and it leaves with them. */
TEST(margin) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        assert_true(margin_cores(&fixture) <= 0);
        bind_pod(&fixture, 1, "web", 1, 0);
        const double of_one = margin_cores(&fixture);
        assert_true(of_one > 0.47 && of_one < 0.48); /* 0.674 sqrt(1/2) of what it requests */
        bind_pod(&fixture, 2, "web", 1, 0);
        const double of_two = margin_cores(&fixture);
        assert_true(fabs(of_two - sqrt(2) * of_one) < 1e-6);
        for (int i = 0; i < 20; i++)
                read_cores(&fixture, 2, 1000000 + i * SYNC_MS);
        const double when_read = margin_cores(&fixture);
        assert_true(when_read < 0.9 * of_two);
        end_pod(&fixture, 1, 1, 1000000 + 20 * SYNC_MS);
        assert_true(margin_cores(&fixture) > 0 && margin_cores(&fixture) < when_read);
        end_pod(&fixture, 2, 1, 1000000);
        assert_true(margin_cores(&fixture) < 1e-3);
        fixture.node.capacity = (struct pod_load){0};
        assert_true(margin_cores(&fixture) <= 0);
}

/* Where one pod's variance is much larger than all others, rounding must not make it negative. */
TEST(margin_of_a_huge_pod) {
        for (int round = 0; round < 1000; round++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t now = 1000000;
                bind_pod(&fixture, 1, NULL, 1e9 * (1 + draw_ratio()), now);
                for (int i = 0; i < 4; i++) {
                        now += 1000 + (int64_t)(draw_ratio() * SYNC_MS);
                        read_cores(&fixture, 1e9 * draw_ratio(), now);
                        assert_true(margin_cores(&fixture) >= 0);
                }
        }
}
