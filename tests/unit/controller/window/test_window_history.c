/* The series of a sparkline: from means, from maxima, with gaps, and from windows that are short.
 */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/clock.h"
#include "controller/window/window_history.h"

enum { COUNT = 30, STEP_MS = 2 * MS_PER_MIN };

static const struct metric_query avg_5m = {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query avg_1d = {METRIC_CPU, METRIC_AVG, MS_PER_DAY};
static const struct metric_query avg_1h = {METRIC_CPU, METRIC_AVG, MS_PER_HOUR};
static const struct metric_query max_1h = {METRIC_CPU, METRIC_MAX, MS_PER_HOUR};
static const struct metric_query max_1d = {METRIC_CPU, METRIC_MAX, MS_PER_DAY};
static const struct metric_query p90_1h = {METRIC_CPU, METRIC_P90, MS_PER_HOUR};

struct store {
        struct window_plan *plan;
        struct window_store *windows;
};

static struct store new_store(const struct metric_query *queries, size_t count) {
        struct window_plan *plan = window_plan_new(queries, count, 15 * MS_PER_S);

        return (struct store){plan, window_store_new(plan)};
}

static void end_store(struct store *store) {
        window_store_free(store->windows);
        window_plan_free(store->plan);
}

/* Scrapes each 15 s, from after @from_min to @to_min. */
static void run(struct store *store, int from_min, int to_min, double ratio) {
        for (int64_t at_ms = from_min * MS_PER_MIN + 15 * MS_PER_S; at_ms <= to_min * MS_PER_MIN;
             at_ms += 15 * MS_PER_S) {
                struct window_step step = {.at_mono_ms = at_ms, .counters = 1u << METRIC_CPU};
                step.den[METRIC_CPU] = 0.1;
                step.num[METRIC_CPU] = 0.1 * ratio;
                (void)window_store_add(store->windows, &step);
        }
}

static bool read_ratios(const struct store *store, int at_min, float ratios[COUNT]) {
        return window_history(store->windows, METRIC_CPU, STEP_MS, COUNT, at_min * MS_PER_MIN,
                              ratios);
}

static void check(float value, double expected) {
        if (!(fabs((double)value - expected) < 1e-5))
                fail_msg("%.9g, not %.9g", (double)value, expected);
}

/* A cell across the edge of two steps counts in both, by its share of the time. */
static void check_near(float value, double expected) {
        if (!(fabs((double)value - expected) < 0.05))
                fail_msg("%.9g, not near %.9g", (double)value, expected);
}

TEST(means) {
        const struct metric_query queries[] = {avg_5m, avg_1h};
        struct store store = new_store(queries, 2);
        float ratios[COUNT + 1] = {[COUNT] = 42};

        assert_false(read_ratios(&store, 0, ratios));
        run(&store, 100, 130, 0.2);
        run(&store, 130, 160, 0.6);
        assert_true(read_ratios(&store, 160, ratios));
        for (int i = 0; i < COUNT; i++)
                check_near(ratios[i], i < COUNT / 2 ? 0.2 : 0.6);
        assert_true(ratios[COUNT] == 42.0F); /* what is behind the series is not ours */
        /* Twenty minutes later, without a scrape: the past moves to the left. */
        assert_true(read_ratios(&store, 180, ratios));
        for (int i = 0; i < COUNT; i++)
                check_near(ratios[i], i < 5 ? 0.2 : i < 20 ? 0.6 : (double)WINDOW_HISTORY_UNKNOWN);
        assert_false(read_ratios(&store, 300, ratios));
        end_store(&store);
}

/* The 5-minute mean climbs for 5 minutes after a change, and is there once half of it has data. */
TEST(maxima) {
        const struct metric_query queries[] = {avg_5m, max_1h, max_1d};
        struct store store = new_store(queries, 3);
        float ratios[COUNT];

        run(&store, 100, 120, 0.2);
        run(&store, 120, 140, 0.7);
        assert_true(read_ratios(&store, 140, ratios));
        check(ratios[0], (double)WINDOW_HISTORY_UNKNOWN);
        check(ratios[COUNT - 11], 0.2); /* 20 minutes ago: the last of the old load */
        check(ratios[COUNT - 1], 0.7);
        for (int i = COUNT - 10; i < COUNT; i++)
                assert_true(ratios[i] >= ratios[i - 1]);
        end_store(&store);
}

TEST(choice) {
        static const struct {
                const struct metric_query *query;
                int known; /* steps that are known after two hours */
        } rows[] = {
                {&avg_5m, 4}, /* its 26 cells, of a scrape each */
                {&avg_1h, COUNT}, {&max_1h, COUNT}, {&max_1d, COUNT}, /* buckets of 5 minutes */
                {&p90_1h, COUNT},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct store store = new_store(rows[i].query, 1);
                float ratios[COUNT];
                int known = 0;
                run(&store, 0, 120, 0.5);
                assert_true(read_ratios(&store, 120, ratios));
                for (int k = 0; k < COUNT; k++)
                        known += ratios[k] >= 0;
                assert_int_equal(known, rows[i].known);
                check(ratios[COUNT - 1], 0.5);
                assert_false(window_history(store.windows, METRIC_MEM, STEP_MS, COUNT,
                                            120 * MS_PER_MIN, ratios));
                for (int k = 0; k < COUNT; k++)
                        assert_true(ratios[k] < 0);
                end_store(&store);
        }
}

/* Of windows that reach as far the finest, of equal ones the first. */
TEST(finest) {
        static const struct {
                const struct metric_query *queries[2];
                /* Of the last two steps: their mean, of cells that begin at 15 s; or the largest
                 * 5-minute mean in them. */
                double before, latest;
        } rows[] = {
                {{&avg_1h, &avg_1d}, 0.075, 0.725},
                {{&avg_1d, &avg_1h}, 0.075, 0.725},
                {{&avg_1h, &max_1h}, 0.075, 0.725},
                {{&max_1h, &avg_1h}, (double)WINDOW_HISTORY_UNKNOWN, 0.28},
                {{&p90_1h, &max_1h}, 0, 0.28},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct metric_query queries[] = {*rows[i].queries[0], *rows[i].queries[1]};
                struct store store = new_store(queries, 2);
                float ratios[COUNT];
                run(&store, 0, 121, 0);
                run(&store, 121, 123, 0.8);
                assert_true(read_ratios(&store, 123, ratios));
                check(ratios[COUNT - 2], rows[i].before);
                check(ratios[COUNT - 1], rows[i].latest);
                end_store(&store);
        }
}

/* Usage of 0 is known, but not as a maximum; of a channel without windows nothing is. */
TEST(zero) {
        static const struct {
                const struct metric_query *query;
                unsigned channel;
                double expected;
        } rows[] = {
                {&avg_1h, METRIC_CPU, 0},
                {&p90_1h, METRIC_CPU, 0},
                {&max_1h, METRIC_CPU, (double)WINDOW_HISTORY_UNKNOWN},
                {&avg_1h, METRIC_MEM, (double)WINDOW_HISTORY_UNKNOWN},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct store store = new_store(rows[i].query, 1);
                float ratios[COUNT];
                run(&store, 0, 120, 0);
                assert_int_equal(window_history(store.windows, rows[i].channel, STEP_MS, COUNT,
                                                120 * MS_PER_MIN, ratios),
                                 rows[i].expected == 0);
                for (int k = 1; k < COUNT; k++)
                        check(ratios[k], rows[i].expected);
                end_store(&store);
        }
}
