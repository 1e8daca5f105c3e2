/* Levels of load: when they rise and fall, and that they do not oscillate. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "controller/track/load_level.h"

static struct policy policy = {
        .metric_count = 3,
        .priority_count = 3,
        .priorities = {{.metric = 0, .weight = 2}, {.metric = 1, .weight = 1}, {.metric = 2}},
        .level_count = 4,
        .level_ratios = {0.5, 0.6, 0.7, 0.8},
};

TEST(load) {
        static const struct {
                uint64_t usable;
                double ratio[3];
                bool has_load;
                double load_ratio;
                uint64_t provisional;
                bool is_provisional;
        } rows[] = {
                {0, {0.9, 0.9, 0.9}, false, 0},
                {4, {0.9, 0.9, 0.9}, false, 0}, /* a weight of 0 */
                {7, {0.3, 0.2, 0.9}, true, 0.3},
                {7, {0.3, 0.8, 0.9}, true, 0.4}, /* at half the weight */
                {6, {0.9, 0.8, 0.9}, true, 0.4}, /* the heavier one is missing */
                {7, {0, 0, 0}, true, 0},
                {7, {0.9, 0.2, 0.9}, true, 0.9, 2, true},
                {7, {0.9, 0.2, 0.9}, true, 0.9, 4, false}, /* what does not count */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct plan_values values = {.usable = rows[i].usable,
                                             .provisional = rows[i].provisional};
                bool is_provisional = false;
                double load_ratio = -1;
                memcpy(values.ratio, rows[i].ratio, sizeof(rows[i].ratio));
                assert_int_equal(load_level_ratio(&policy, &values, &load_ratio, &is_provisional),
                                 rows[i].has_load);
                assert_int_equal(is_provisional, rows[i].is_provisional);
                double expected = rows[i].has_load ? rows[i].load_ratio : -1;
                assert_float_equal(load_ratio, expected, 1e-12);
        }
}

TEST(rise_and_fall) {
        static const struct {
                const char *samples; /* a letter each: a is 0.40, b is 0.45, ..., j is 0.85 */
                uint8_t from, to;
        } rows[] = {
                {"", 0, 0},           {"j", 0, 0},
                {"jj", 0, 4},         {"je", 0, 2},       /* what both ask for */
                {"ej", 0, 2},         {"jajajaja", 0, 0}, /* no two in a row */
                {"cc", 0, 1},                             /* 0.50 reaches it */
                {"bbbbbbbbbb", 0, 0}, {"jj", 2, 4},
                {"bbbbbbbbbb", 1, 1}, /* 0.45: within the hysteresis */
                {"aaaaaaa", 1, 1},    {"aaaaaaaa", 1, 0},
                {"aaaaaaaa", 4, 0},   {"aaaaaaac", 4, 1}, /* what all of them ask for */
                {"aaaajaaaa", 4, 4},                      /* not in a row */
                {"aaaaaaajj", 4, 4},  {"iaaaaaaa", 3, 3},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct load_level level = {.own = rows[i].from};
                for (const char *at = rows[i].samples; *at; at++)
                        load_level_sample(&level, &policy, 0.4001 + 0.05 * (*at - 'a'));
                if (level.own != rows[i].to)
                        fail_msg("row %zu: %u", i, level.own);
                assert_int_equal(level.has_load, rows[i].samples[0] != '\0');
        }
}

/* Around any load, noise of less than the hysteresis changes a level no more once it has settled;
 * and no history changes it faster than the runs allow. */
TEST(random_histories) {
        enum { ROUNDS = 2000, SAMPLES = 400 };
        unsigned short seed[3] = {1, 2, 3};

        for (int round = 0; round < ROUNDS; round++) {
                struct load_level level = {.own = (uint8_t)(nrand48(seed) % 5)};
                double middle = erand48(seed), noise = round % 2 == 0 ? 0.0499 : 0.5;
                int changes = 0, since = LOAD_LEVEL_RISE;
                for (int i = 0; i < SAMPLES; i++) {
                        uint8_t before = level.own;
                        double ratio = middle + (erand48(seed) - 0.5) * noise;
                        load_level_sample(&level, &policy, fmin(fmax(ratio, 0), 1));
                        assert_true(level.own <= policy.level_count);
                        since++;
                        if (level.own == before)
                                continue;
                        changes++;
                        assert_true(since >= LOAD_LEVEL_RISE);
                        if (level.own < before)
                                assert_true(since >= LOAD_LEVEL_FALL);
                        since = 0;
                }
                /* To what both, or all eight, ask for; then to what all the others do. */
                if (noise < LOAD_LEVEL_HYSTERESIS_RATIO)
                        assert_true(changes <= 2);
        }
}

/* A cluster, as the writer plays it: nodes come to rest at loads of their own, with noise; some are
 * lost for a while. No node is changed twice in a minute; all are at rest in the end. */
TEST(random_clusters) {
        enum { ROUNDS = 200, NODES = 12, TICK_MS = 1000, SAMPLE_TICKS = 15, TICKS = 3600 };
        unsigned short seed[3] = {4, 5, 6};

        for (int round = 0; round < ROUNDS; round++) {
                struct load_level levels[NODES] = {0};
                unsigned carried[NODES] = {0};
                double from[NODES], to[NODES];
                int64_t changed_ms[NODES];
                for (int i = 0; i < NODES; i++) {
                        from[i] = erand48(seed);
                        /* With its noise between two thresholds of rise or fall. */
                        to[i] = 0.025 + 0.05 * (double)(nrand48(seed) % 20);
                        changed_ms[i] = INT64_MIN / 2;
                        carried[i] = (unsigned)(nrand48(seed) % 5);
                        load_level_forget(&levels[i], carried[i]);
                }
                for (int tick = 0; tick < TICKS; tick++) {
                        struct load_levels least = LOAD_LEVEL_NONE;
                        int64_t now_ms = (int64_t)tick * TICK_MS;
                        for (int i = 0; i < NODES; i++) {
                                bool is_wild = tick < TICKS / 2;
                                double middle = is_wild ? erand48(seed) * from[i] : to[i];
                                double ratio = middle + (erand48(seed) - 0.5) * 0.049;
                                if (is_wild && erand48(seed) < 0.002)
                                        load_level_forget(&levels[i], carried[i]);
                                else if ((tick + i) % SAMPLE_TICKS == 0)
                                        load_level_sample(&levels[i], &policy, fmax(ratio, 0));
                                if (load_level_is_settled(&levels[i]))
                                        load_level_compare(&levels[i], false, &least);
                        }
                        for (int i = 0; i < NODES; i++) {
                                unsigned shown = load_level_shown(&levels[i], &least, carried[i]);
                                if (shown == carried[i] || !load_level_is_settled(&levels[i]) ||
                                    !load_level_may_change(&levels[i], now_ms))
                                        continue;
                                assert_true(now_ms - changed_ms[i] >= LOAD_LEVEL_REST_MS);
                                assert_true(tick < TICKS * 3 / 4);
                                changed_ms[i] = now_ms;
                                carried[i] = shown;
                                load_level_changed(&levels[i], now_ms);
                        }
                }
        }
}

TEST(shown) {
        static const struct {
                uint8_t own, other, other_asked; /* asked: it has begun to rise; 0: not */
                unsigned carried, shown;
                bool is_late; /* the other */
        } rows[] = {
                {3, 0, 0, 0, 3},       {3, 2, 0, 0, 1},       {3, 3, 0, 0, 0},
                {1, 3, 0, 0, 0},       {3, 0, 0, 4, 3},       {3, 2, 0, 3, 1},
                {2, 2, 0, 1, 0},       {3, 0, 3, 0, 0}, /* the other one follows: it
                                                           waits */
                {3, 0, 1, 1, 2},       {3, 0, 3, 2, 2}, /* takes nothing off before it has followed
                                                         */
                {3, 0, 0, 0, 0, true}, {3, 0, 0, 2, 2, true}, {3, 2, 0, 2, 1, true},
        };
        static const struct load_level stale = {.own = 3};
        struct load_levels none = LOAD_LEVEL_NONE;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct load_level level = {.own = rows[i].own, .has_load = true};
                const struct load_level other = {.own = rows[i].other,
                                                 .has_load = true,
                                                 .is_rising = true,
                                                 .run = rows[i].other_asked > 0,
                                                 .target = rows[i].other_asked};
                struct load_levels least = LOAD_LEVEL_NONE;
                load_level_compare(&level, false, &least);
                load_level_compare(&other, rows[i].is_late, &least);
                assert_int_equal(load_level_shown(&level, &least, rows[i].carried), rows[i].shown);
        }
        assert_int_equal(load_level_shown(&stale, &none, 2), 0);
}

TEST(settles) {
        struct load_level level = {0};

        load_level_hold(&level);
        assert_true(level.has_load);
        for (int i = 0; i < LOAD_LEVEL_RISE; i++) {
                assert_false(load_level_is_settled(&level));
                load_level_sample(&level, &policy, 0.9);
        }
        assert_true(load_level_is_settled(&level));
        level.own = 9; /* of a policy that had more */
        load_level_sample(&level, &policy, 0.9);
        assert_int_equal(level.own, policy.level_count);
        load_level_forget(&level, 1);
        assert_false(load_level_is_settled(&level));
        assert_int_equal(level.own, 1);
}
