/* Base and pods of a node by time: windows of any length, events that are known late, and a clock
 * that is set back. */
#include "one_tracked_node.h"

/* A wall clock that is set back moves what would be later than now, and nothing else. */
TEST(clock_set_back) {
        const int64_t now = 1000000;
        static const struct {
                int64_t at, moved_to;
        } rows[] = {{1000000, 1000000}, {1000050, 999950}, {TRACKED_NEVER, TRACKED_NEVER}};
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                bind_pod(&fixture, 2 * i + 1, NULL, 1, rows[i].at);
                bind_pod(&fixture, 2 * i + 2, NULL, 1, 0);
                end_pod(&fixture, 2 * i + 2, 1, rows[i].at);
        }
        tracked_node_set_back(&fixture.node, 100, now);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_true(fixture.node.pods[2 * i].runs_unix_ms == rows[i].moved_to);
                assert_true(fixture.node.pods[2 * i + 1].gone_unix_ms == rows[i].moved_to);
        }
}

/* However long the window is, it is known which pods it still shows. */
TEST(long_window) {
        enum { HOUR_MS = 60 * MINUTE_MS };
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, NULL, 4, 0);
        for (int64_t now = 2 * HOUR_MS; now < 4 * (int64_t)HOUR_MS; now += SYNC_MS) {
                double held = fmax(0, 1 - (double)(now - 2 * HOUR_MS) / HOUR_MS);
                const struct tracked_reading reading = {4 * held / CORES, now - HOUR_MS, now,
                                                        HOUR_MS};
                tracked_node_read(&fixture.node, fixture.workloads, ESTIMATE_CPU, &reading, NULL,
                                  &whole);
                if (now == 2 * HOUR_MS)
                        end_pod(&fixture, 1, 4, now);
                if (used_cores(&fixture) > 0.01)
                        fail_msg("%d minutes later: %g cores",
                                 (int)((now - 2 * HOUR_MS) / MINUTE_MS), used_cores(&fixture));
        }
        assert_int_equal(fixture.node.pod_count, 0);
}

/* A pod that started while the clock was ahead runs in the windows after it was set back: what it
 * uses is not taken for base, and it is not learned that such a pod uses nothing. */
TEST(start_before_the_clock_is_set_back) {
        const int64_t now = 1000000, ahead_ms = 20 * (int64_t)MINUTE_MS;
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        read_cores(&fixture, 2, now);
        bind_pod(&fixture, 1, "d/w", 4, now + ahead_ms);
        tracked_node_set_back(&fixture.node, ahead_ms, now);
        for (int i = 1; i <= 12; i++) {
                double held = fmin(1, (double)(i * SYNC_MS) / WINDOW_MS);
                read_cores(&fixture, 2 + 4 * held, now + i * SYNC_MS);
                assert_true(fabs(used_cores(&fixture) - 6) < 0.1);
        }
        assert_true(fabs(learned_cores(&fixture, "d/w") - 4) < 0.1);
}

TEST(part) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, NULL, 1, 1000000 - WINDOW_MS / 2);
        read_cores(&fixture, 1, 1000000);
        assert_float_equal(tracked_node_part(&fixture.node, 1, ESTIMATE_CPU), 0.5, 1e-9);
        assert_true(tracked_node_part(&fixture.node, 1, ESTIMATE_MEM) == 0); /* never read */
        assert_true(tracked_node_part(&fixture.node, 2, ESTIMATE_CPU) == 0);
}

/* Of a mean over 5 minutes and one over the last 2 it follows what the 3 before them were: a pod
 * that came in between is seen at once. */
TEST(two_windows) {
        struct fixture one = begin_fixture(), two = begin_fixture();
        int64_t now = 1000000;
        struct fixture *both[] = {&one, &two};

        for (int k = 0; k < 2; k++) {
                for (int i = 0; i < 20; i++)
                        read_cores(both[k], 4, now + i * SYNC_MS);
                bind_pod(both[k], 1, NULL, 1, now + 19 * SYNC_MS + MINUTE_MS);
        }
        now += 20 * (int64_t)SYNC_MS;
        /* It uses 5. */
        const struct tracked_reading reading = {(4 + 2) / CORES, now - WINDOW_MS, now, WINDOW_MS};
        const struct tracked_reading shorter = {9 / CORES, now - 2 * MINUTE_MS, now, 2 * MINUTE_MS};
        tracked_node_read(&one.node, one.workloads, ESTIMATE_CPU, &reading, NULL, &whole);
        tracked_node_read(&two.node, two.workloads, ESTIMATE_CPU, &reading, &shorter, &whole);
        assert_true(fabs(used_cores(&two) - 9) < fabs(used_cores(&one) - 9));
        assert_float_equal(used_cores(&two), 9, 1.5);
        end_fixture(&one);
        end_fixture(&two);
}

/* A window that was begun a minute ago holds a pod of that minute whole. */
TEST(young_window) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        bind_pod(&fixture, 1, NULL, 1, now - MINUTE_MS);
        const struct tracked_reading reading = {5 / CORES, now - MINUTE_MS, now, WINDOW_MS};
        tracked_node_read(&fixture.node, fixture.workloads, ESTIMATE_CPU, &reading, NULL, &whole);
        assert_float_equal(used_cores(&fixture), 5, 0.5);
}

/* Two readings far apart say nothing of the pods that came in between. */
TEST(gap) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        read_cores(&fixture, 4, now);
        bind_pod(&fixture, 1, "d/w", 1, now + MINUTE_MS);
        read_cores(&fixture, 24, now + 100 * (int64_t)WINDOW_MS);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
        /* Nor do readings that come in the wrong order. */
        bind_pod(&fixture, 2, "d/w", 1, now + 2 * MINUTE_MS);
        read_cores(&fixture, 24, now);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
}

/* The watch was away: pods that ended in the meantime were in no later window, and the next reading
 * says nothing of their workload. */
TEST(end_that_is_known_late) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        for (uint64_t id = 1; id <= 8; id++)
                bind_pod(&fixture, id, "d/w", 1, 0);
        read_cores(&fixture, 8, now);
        read_cores(&fixture, 2, now + 5 * (int64_t)WINDOW_MS);
        for (uint64_t id = 3; id <= 8; id++)
                end_pod(&fixture, id, 1, now + STEP_MS);
        read_cores(&fixture, 2, now + 6 * (int64_t)WINDOW_MS);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
        assert_float_equal(used_cores(&fixture), 2, 0.5);
}

/* A node is busy while it joins, and idle from then on: it is not taken for a busy one for long. */
TEST(busy_first_minute) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        read_cores(&fixture, 0.6 * CORES, now);
        for (int i = 0; i < 8; i++)
                read_cores(&fixture, 0.05 * CORES, now += SYNC_MS);
        assert_true(used_cores(&fixture) < 0.1 * CORES);
}

/* What all pods of a node use changes for good: that is no noise. */
TEST(step) {
        static const double ratios[][2] = {{0.2, 0.8}, {0.75, 0.15}};

        for (size_t row = 0; row < ARRAY_LEN(ratios); row++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t now = 1000000;
                for (uint64_t id = 1; id <= 20; id++)
                        bind_pod(&fixture, id, NULL, ratios[row][0] * CORES / 20, 0);
                for (int i = 0; i < 480; i++)
                        read_cores(&fixture, ratios[row][0] * CORES, now += SYNC_MS);
                for (int i = 0; i < 8; i++)
                        read_cores(&fixture, ratios[row][1] * CORES, now += SYNC_MS);
                assert_true(fabs(used_cores(&fixture) - ratios[row][1] * CORES) < 0.05 * CORES);
        }
}

/* A node that tells the same of its pod again and again teaches no more than by telling it once. */
TEST(repeated_readings) {
        struct fixture once = begin_fixture(), often = begin_fixture();
        struct fixture *const both[] = {&once, &often};
        int64_t now = 1000000;

        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
                read_cores(both[i], 4, now);
                bind_pod(both[i], 1, "d/w", 1, now);
                read_cores(both[i], 24, now + WINDOW_MS);
        }
        for (int i = 0; i < 100; i++) {
                read_cores(&often, 4, now);
                read_cores(&often, 24, now + WINDOW_MS);
                read_cores(&often, 24, now + WINDOW_MS + 1 + i);
        }
        assert_float_equal((float)learned_cores(&often, "d/w"), (float)learned_cores(&once, "d/w"),
                           1e-6);
        assert_true(learned_cores(&once, "d/w") > 1);
        end_fixture(&once);
        end_fixture(&often);
}
