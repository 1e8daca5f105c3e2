/* What must hold of a node whatever happens on it: it comes to what base and pods really use, in
 * whatever order pods stand, and nothing is below 0. */
#include "one_tracked_node.h"

#include "tests/unit/fixture/draw.h"

enum { PODS = 24, NODES = 50 };

struct truth {
        double base, uses[PODS], requests[PODS];
};

/* At most two thirds of the node. */
static struct truth draw_truth(void) {
        struct truth truth = {.base = 10 * draw_ratio()};

        for (size_t i = 0; i < PODS; i++) {
                truth.requests[i] = 0.1 + 2 * draw_ratio();
                truth.uses[i] = 1.3 * draw_ratio();
        }
        return truth;
}

/* What they use together, and the base. */
static double sum_of(const struct truth *truth, size_t from, size_t to) {
        double sum = truth->base;

        for (size_t i = from; i < to; i++)
                sum += truth->uses[i];
        return sum;
}

/* Pods that ran before the first reading: two readings are enough for their sum. */
TEST(sum_is_found) {
        for (int n = 0; n < NODES; n++) {
                const struct truth truth = draw_truth();
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                for (size_t i = 0; i < PODS; i++)
                        bind_pod(&fixture, i + 1, NULL, truth.requests[i], 0);
                for (int k = 0; k < 2; k++)
                        read_cores(&fixture, sum_of(&truth, 0, PODS), 1000000 + k * SYNC_MS);
                assert_true(fabs(used_cores(&fixture) - sum_of(&truth, 0, PODS)) < 0.02 * CORES);
        }
}

/* Of pods that come one by one each is told from the others by three readings: when some leave,
 * what is left is what the others use. */
TEST(each_is_found) {
        for (int n = 0; n < NODES; n++) {
                const struct truth truth = draw_truth();
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t now = 1000000;
                read_cores(&fixture, truth.base, now);
                for (size_t i = 0; i < PODS; i++) {
                        bind_pod(&fixture, i + 1, NULL, truth.requests[i], now);
                        for (int k = 0; k < 3; k++)
                                read_cores(&fixture, sum_of(&truth, 0, i + 1), now += WINDOW_MS);
                }
                for (size_t i = 0; i < PODS / 2; i++)
                        end_pod(&fixture, i + 1, truth.requests[i], now);
                double left = sum_of(&truth, PODS / 2, PODS);
                if (fabs(used_cores(&fixture) - left) > 0.04 * CORES)
                        fail_msg("%g cores, not %g", used_cores(&fixture), left);
        }
}

TEST(order_of_pods) {
        for (int n = 0; n < NODES; n++) {
                const struct truth truth = draw_truth();
                struct fixture forward = begin_fixture(), backward = begin_fixture();
                for (size_t i = 0; i < PODS; i++) {
                        size_t other = PODS - 1 - i;
                        bind_pod(&forward, i + 1, i % 2 ? "d/w" : NULL, truth.requests[i],
                                 (int64_t)i * MINUTE_MS);
                        bind_pod(&backward, other + 1, other % 2 ? "d/w" : NULL,
                                 truth.requests[other], (int64_t)other * MINUTE_MS);
                }
                for (int64_t now = 10 * (int64_t)MINUTE_MS; now < PODS * (int64_t)MINUTE_MS;
                     now += SYNC_MS) {
                        double cores = 20 + 20 * draw_ratio();
                        read_cores(&forward, cores, now);
                        read_cores(&backward, cores, now);
                }
                assert_float_equal((float)used_cores(&forward), (float)used_cores(&backward), 1e-3);
                assert_float_equal((float)base_cores(&forward), (float)base_cores(&backward), 1e-3);
                assert_float_equal((float)tracked_node_margin_ratio(&forward.node, ESTIMATE_CPU),
                                   (float)tracked_node_margin_ratio(&backward.node, ESTIMATE_CPU),
                                   1e-4);
                assert_float_equal((float)tracked_node_noise_ratio(&forward.node, ESTIMATE_CPU),
                                   (float)tracked_node_noise_ratio(&backward.node, ESTIMATE_CPU),
                                   1e-4);
                end_fixture(&forward);
                end_fixture(&backward);
        }
}

static void check_sane(const struct fixture *fixture, double requested) {
        double margin = tracked_node_margin_ratio(&fixture->node, ESTIMATE_CPU),
               noise = tracked_node_noise_ratio(&fixture->node, ESTIMATE_CPU);

        assert_true(used_cores(fixture) >= 0 && base_cores(fixture) >= 0);
        assert_true(used_cores(fixture) < 10 * CORES);
        assert_true(margin >= 0 && margin < 1 && noise >= 0 && noise < 1);
        assert_true(fabs(fixture->node.requested.of[ESTIMATE_CPU] - requested) < 1e-6);
        for (size_t i = 0; i < fixture->node.pod_count; i++) {
                assert_true(fixture->node.pods[i].used[ESTIMATE_CPU] >= 0);
                assert_true(fixture->node.pods[i].variance[ESTIMATE_CPU] >= 0);
        }
}

/* Pods that come, start and go, and readings of anything, some of them of the past. */
TEST(whatever_happens) {
        enum { STEPS = 4000, IDS = 40 };
        double live[IDS] = {0}, requested = 0;
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        for (int step = 0; step < STEPS; step++) {
                size_t i = draw_below(IDS);
                now += (int64_t)draw_below(MINUTE_MS) - (draw_below(20) ? 0 : WINDOW_MS);
                if (draw_below(3) == 0) {
                        read_cores(&fixture, 1.5 * CORES * draw_ratio(), now);
                } else if (live[i] <= 0) {
                        live[i] = 0.1 + 4 * draw_ratio();
                        requested += live[i];
                        bind_pod(&fixture, i + 1, draw_below(2) ? "d/w" : NULL, live[i],
                                 draw_below(2) ? now : TRACKED_NEVER);
                } else if (draw_below(2)) {
                        (void)tracked_node_start(&fixture.node, i + 1, now);
                } else {
                        end_pod(&fixture, i + 1, live[i], now);
                        requested -= live[i];
                        live[i] = 0;
                }
                check_sane(&fixture, requested);
        }
}
