/* Sums in blocks of time, and the interval of their ratio. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "extender/trial/trial_blocks.h"

enum { MIN_MS = 60000, STEP_MS = 15000 };

static struct trial_sum hot(double real_s, double virtual_s) {
        return (struct trial_sum){.counted_s = {600, 600}, .hot_s = {real_s, virtual_s}};
}

static void add_minutes(struct trial_blocks *blocks, size_t count, double real_s,
                        double virtual_s) {
        const struct trial_sum sum = hot(real_s / 4, virtual_s / 4);

        for (size_t i = 0; i < count * MIN_MS / STEP_MS; i++)
                trial_blocks_add(blocks, &sum, STEP_MS);
}

TEST(nothing_is_forgotten) {
        struct trial_blocks blocks = {0};
        size_t minutes = 0;

        assert_int_equal(blocks.counted_ms, 0);
        for (size_t more = 1; more < 5000; more += more) {
                add_minutes(&blocks, more, 60, 30);
                minutes += more;
                assert_int_equal(blocks.counted_ms, minutes * MIN_MS);
                assert_true(blocks.count <= TRIAL_BLOCKS_MAX);
                assert_true(fabs(trial_blocks_sum(&blocks).hot_s[TRIAL_REAL] -
                                 60.0 * (double)minutes) < 1e-6);
        }
        assert_int_equal(blocks.block_ms % MIN_MS, 0);
        assert_true(blocks.count > TRIAL_BLOCKS_MAX / 2);
}

TEST(interval) {
        struct trial_blocks even = {0}, uneven = {0}, gained = {0}, cold = {0}, brief = {0};
        struct trial_ratio ratio = {0}, wide = {0};

        add_minutes(&even, 60, 120, 60);
        assert_true(trial_blocks_ratio(&even, false, &ratio));
        assert_true(fabs(ratio.ratio - 0.5) < 1e-9);
        assert_true(fabs(ratio.low - 0.325) < 1e-9 && fabs(ratio.high - 0.675) < 1e-9);
        /* Without the error of a simulation, and by how much of each was counted. */
        assert_true(trial_blocks_ratio(&even, true, &ratio));
        assert_true(fabs(ratio.low - 0.5) < 1e-9 && fabs(ratio.high - 0.5) < 1e-9);
        for (size_t i = 0; i < even.count; i++)
                even.of[i].counted_s[TRIAL_VIRTUAL] *= 2;
        assert_true(trial_blocks_ratio(&even, true, &ratio));
        assert_true(fabs(ratio.ratio - 0.25) < 1e-9);
        /* An hour with a gain, and one without. */
        add_minutes(&uneven, 30, 120, 0);
        add_minutes(&uneven, 30, 120, 120);
        assert_true(trial_blocks_ratio(&uneven, false, &wide));
        assert_true(fabs(wide.ratio - 0.5) < 1e-9);
        assert_true(wide.low < ratio.low && wide.high > ratio.high);
        assert_true(wide.low >= 0);
        /* No node of the virtual cluster was hot, or none at all; too little was seen, or only one
         * group. */
        add_minutes(&gained, 60, 120, 0);
        assert_true(trial_blocks_ratio(&gained, false, &ratio));
        assert_true(ratio.ratio == 0 && ratio.low == 0 && fabs(ratio.high - 0.05) < 1e-9);
        for (size_t i = 0; i < gained.count; i++)
                gained.of[i].counted_s[TRIAL_VIRTUAL] = 0;
        assert_false(trial_blocks_ratio(&gained, true, &ratio));
        add_minutes(&cold, 60, 0, 0);
        assert_false(trial_blocks_ratio(&cold, false, &ratio));
        add_minutes(&brief, 2, 120, 60);
        assert_false(trial_blocks_ratio(&brief, false, &ratio));
}
