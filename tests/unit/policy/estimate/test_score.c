/* Headroom and points. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "policy/estimate/score.h"
#include "policy/estimate/score_weights.h"

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
                struct score_weights weights = {.weight = {1, rows[i].mem_weight},
                                                .has_target = true};
                struct score_node node = {
                        .used = {rows[i].used[0], rows[i].used[1] * rows[i].mem_weight},
                        .own = {score_own(1, 1.0 / 8), score_own(rows[i].mem_weight, 1 / 32e9)}};
                memcpy(weights.target_ratio, rows[i].target, sizeof(weights.target_ratio));
                assert_float_equal((float)score_weights_headroom(&weights, &node, &load),
                                   (float)rows[i].headroom, 1e-4);
        }
}
