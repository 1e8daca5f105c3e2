/* What counts in a window, what is remembered of it, and what it says of itself: edges. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/clock.h"
#include "controller/window/window.h"

#define CPU_BIT (1u << METRIC_CPU)

static const struct metric_query avg_5m = {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query avg_1h = {METRIC_CPU, METRIC_AVG, MS_PER_HOUR};
static const struct metric_query max_1m = {METRIC_CPU, METRIC_MAX, MS_PER_MIN};
static const struct metric_query max_1h = {METRIC_CPU, METRIC_MAX, MS_PER_HOUR};
static const struct metric_query p50_1h = {METRIC_CPU, METRIC_P50, MS_PER_HOUR};
static const struct metric_query p90_1h = {METRIC_CPU, METRIC_P90, MS_PER_HOUR};
static const struct metric_query p95_1h = {METRIC_CPU, METRIC_P95, MS_PER_HOUR};
static const struct metric_query p99_1h = {METRIC_CPU, METRIC_P99, MS_PER_HOUR};

struct windows {
        struct window_plan *plan;
        struct window_store *store;
};

/* Those of one or two queries. */
static struct windows windows_new(const struct metric_query *a, const struct metric_query *b) {
        const struct metric_query queries[] = {*a, b ? *b : *a};
        struct window_plan *plan = window_plan_new(queries, b ? 2 : 1, 15 * MS_PER_S);

        return (struct windows){plan, window_store_new(plan)};
}

static void windows_done(struct windows *windows) {
        window_store_free(windows->store);
        window_plan_free(windows->plan);
}

static uint32_t count(struct windows *windows, int64_t at_ms, double num, double den) {
        struct window_step step = {.at_mono_ms = at_ms, .counters = CPU_BIT};

        step.num[METRIC_CPU] = num;
        step.den[METRIC_CPU] = den;
        return window_store_add(windows->store, &step);
}

/* A mean that was computed elsewhere. */
static void hand_in(struct windows *windows, int64_t at_ms, double mean) {
        struct window_step step = {.at_mono_ms = at_ms, .means = CPU_BIT};

        step.num[METRIC_CPU] = mean;
        (void)window_store_add(windows->store, &step);
}

static struct window_reading read_window(const struct windows *windows,
                                         const struct metric_query *query, int64_t now_ms) {
        return window_read(windows->store, query, now_ms);
}

static void check(double value, double expected) {
        if (!(fabs(value - expected) < 1e-6))
                fail_msg("%.9g, not %.9g", value, expected);
}

static void check_value(const struct windows *windows, const struct metric_query *query,
                        int64_t now_ms, double expected) {
        struct window_reading reading = window_read(windows->store, query, now_ms);

        assert_int_equal(reading.status, WINDOW_KNOWN);
        check(reading.ratio, expected);
}

/* A step says of each channel by itself whether it has it, and as what. */
TEST(channels) {
        enum { CHANNELS = 3, KINDS = 3 };

        for (unsigned i = 0; i < CHANNELS * KINDS; i++) {
                struct metric_query queries[CHANNELS];
                struct window_step step = {.num = {1, 1, 1}, .den = {4, 4, 4}};
                uint32_t *const kinds[KINDS] = {&step.counters, &step.gauges, &step.means};
                for (unsigned channel = 0; channel < CHANNELS; channel++)
                        queries[channel] = (struct metric_query){channel, METRIC_AVG, MS_PER_MIN};
                struct window_plan *plan = window_plan_new(queries, CHANNELS, 15 * MS_PER_S);
                struct window_store *store = window_store_new(plan);
                *kinds[i / CHANNELS] = 1u << i % CHANNELS;
                assert_int_equal(window_store_add(store, &step), 0);
                step.at_mono_ms = 15000;
                assert_int_equal(window_store_add(store, &step), 1u << i % CHANNELS);
                window_store_free(store);
                window_plan_free(plan);
        }
}

/* A second step of the same moment counts for nothing; one a millisecond later does. */
TEST(same_moment) {
        struct windows windows = windows_new(&avg_5m, NULL);

        assert_int_equal(count(&windows, 0, 1, 4), 0);
        assert_int_equal(count(&windows, 15000, 1, 4), CPU_BIT);
        assert_int_equal(count(&windows, 15000, 4, 4), 0);
        check_value(&windows, &avg_5m, 15000, 0.25);
        assert_int_equal(count(&windows, 15001, 4, 4), CPU_BIT);
        check_value(&windows, &avg_5m, 15001, 0.625);
        windows_done(&windows);
}

/* A total of any size is one, except for what is nothing as a float. */
TEST(small_totals) {
        static const struct {
                double den;
                bool is_known;
        } rows[] = {{1, true}, {0.01, true}, {1e-300, false}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct windows windows = windows_new(&max_1h, &p50_1h);
                for (int64_t at_ms = 0; at_ms <= 5 * MS_PER_MIN; at_ms += 15 * MS_PER_S)
                        (void)count(&windows, at_ms, rows[i].den / 2, rows[i].den);
                struct window_reading max = read_window(&windows, &max_1h, 5 * MS_PER_MIN);
                struct window_reading p50 = read_window(&windows, &p50_1h, 5 * MS_PER_MIN);
                struct window_reading mean = read_window(&windows, &avg_5m, 5 * MS_PER_MIN);
                assert_int_equal(max.status, rows[i].is_known ? WINDOW_KNOWN : WINDOW_NO_DATA);
                assert_int_equal(p50.status, max.status);
                assert_int_equal(mean.status, max.status);
                check(max.peak_ratio, rows[i].is_known ? 0.5 : 0);
                check(mean.ratio, rows[i].is_known ? 0.5 : 0);
                windows_done(&windows);
        }
}

/* What is handed in and no measurement is remembered by none. */
TEST(nonsense) {
        static const double values[] = {NAN, -1, 1e13};
        struct windows windows = windows_new(&max_1h, &p99_1h);

        hand_in(&windows, 0, 0.4);
        hand_in(&windows, MS_PER_MIN, 0.5);
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                hand_in(&windows, 2 * MS_PER_MIN + (int64_t)i * MS_PER_MIN, values[i]);
        check_value(&windows, &max_1h, 5 * MS_PER_MIN, 0.5);
        check_value(&windows, &p99_1h, 5 * MS_PER_MIN, 0.5);
        check(read_window(&windows, &p99_1h, 5 * MS_PER_MIN).fullness, 2.0 / 60);
        windows_done(&windows);
}

/* A mean is remembered from half of its 5 minutes on. Until then it is what there is, and says so.
 */
TEST(half) {
        static const struct {
                int64_t span_ms;
                double remembered;
        } rows[] = {{30000, 0}, {149999, 0}, {150000, 0.5}, {300000, 0.5}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t span_ms = rows[i].span_ms;
                bool is_partial = rows[i].remembered == 0;
                struct windows windows = windows_new(&max_1h, &p50_1h);
                (void)count(&windows, 0, 0, 0);
                (void)count(&windows, span_ms, 2, 4);
                check(read_window(&windows, &max_1h, span_ms).peak_ratio, rows[i].remembered);
                check_value(&windows, &max_1h, span_ms, 0.5);
                check_value(&windows, &p50_1h, span_ms, 0.5);
                assert_int_equal(read_window(&windows, &max_1h, span_ms).is_provisional,
                                 is_partial);
                assert_int_equal(read_window(&windows, &p50_1h, span_ms).is_provisional,
                                 is_partial);
                check(read_window(&windows, &p50_1h, span_ms).fullness,
                      is_partial ? (double)span_ms / 3.6e6 : 1.0 / 60);
                windows_done(&windows);
        }
}

/* Nothing is read of a window that the newest step is not in. */
TEST(stale) {
        static const struct metric_query *const queries[] = {&avg_1h, &max_1h, &p50_1h};

        for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
                struct windows windows = windows_new(queries[i], NULL);
                (void)count(&windows, 0, 0, 0);
                (void)count(&windows, 15000, 1, 4);
                check_value(&windows, queries[i], 15000 + MS_PER_HOUR - 1, 0.25);
                struct window_reading stale = read_window(&windows, queries[i],
                                                          15000 + MS_PER_HOUR);
                assert_int_equal(stale.status, WINDOW_STALE);
                assert_int_equal(stale.age_ms, MS_PER_HOUR);
                windows_done(&windows);
        }
}

/* Nearest rank among up to an hour's minutes, which are not in order. */
TEST(quantiles) {
        static const struct {
                int minutes;
                double p50, p90, p95, p99, fullness;
        } rows[] = {
                {1, 0.07, 0.07, 0.07, 0.07, 1.0 / 60}, {2, 0.07, 0.14, 0.14, 0.14, 2.0 / 60},
                {30, 0.27, 0.53, 0.58, 0.60, 0.5},     {60, 0.30, 0.54, 0.57, 0.60, 1},
                {62, 0.30, 0.54, 0.57, 0.60, 1}, /* with the one across the old edge */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct windows windows = windows_new(&p50_1h, NULL);
                int64_t now_ms = rows[i].minutes * MS_PER_MIN;
                for (int minute = 1; minute <= rows[i].minutes; minute++)
                        hand_in(&windows, minute * MS_PER_MIN, minute * 7 % 61 / 100.0);
                check(read_window(&windows, &p50_1h, now_ms).ratio, rows[i].p50);
                check(read_window(&windows, &p90_1h, now_ms).ratio, rows[i].p90);
                check(read_window(&windows, &p95_1h, now_ms).ratio, rows[i].p95);
                check(read_window(&windows, &p99_1h, now_ms).ratio, rows[i].p99);
                check(read_window(&windows, &p99_1h, now_ms).fullness, rows[i].fullness);
                assert_false(read_window(&windows, &p99_1h, now_ms).is_provisional);
                windows_done(&windows);
        }
}

/* Of more than a hundred values the 99th of a hundred is not the largest. */
TEST(p99_of_many) {
        const struct metric_query p99_1d = {METRIC_CPU, METRIC_P99, MS_PER_DAY};
        struct windows windows = windows_new(&p99_1d, NULL);

        for (int i = 1; i <= 200; i++)
                hand_in(&windows, i * 5 * MS_PER_MIN, i / 200.0);
        check_value(&windows, &p99_1d, 200 * 5 * MS_PER_MIN, 0.99);
        windows_done(&windows);
}

/* No window is fuller than full, also one that is shorter than the mean. */
TEST(fullness) {
        struct windows windows = windows_new(&max_1m, &avg_5m);

        (void)count(&windows, 0, 0, 0);
        (void)count(&windows, 15000, 1, 4);
        check(read_window(&windows, &max_1m, 15000).fullness, 0.25);
        check(read_window(&windows, &avg_5m, 15000).fullness, 0.05);
        for (int64_t at_ms = 30000; at_ms <= 5 * MS_PER_MIN; at_ms += 15000)
                (void)count(&windows, at_ms, 1, 4);
        check(read_window(&windows, &max_1m, 5 * MS_PER_MIN).fullness, 1);
        windows_done(&windows);
}

/* While a maximum above 0 is remembered, what is not remembered yet does not show. */
TEST(peak_and_latest) {
        static const struct {
                double seed, latest, ratio;
                bool is_provisional;
        } rows[] = {
                {0.5, 0.75, 0.5, false},
                {0.5, 0.25, 0.5, false},
                {0, 0.25, 0.25, true},
                {0, 0, 0, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct windows windows = windows_new(&max_1h, NULL);
                assert_true(window_store_seed(windows.store, &max_1h, rows[i].seed, -1, 60000));
                (void)count(&windows, 60000, 0, 0);
                (void)count(&windows, 75000, rows[i].latest, 1);
                struct window_reading reading = read_window(&windows, &max_1h, 75000);
                assert_int_equal(reading.status, WINDOW_KNOWN);
                check(reading.ratio, rows[i].ratio);
                assert_int_equal(reading.is_provisional, rows[i].is_provisional);
                assert_true(reading.has_peak);
                check(reading.peak_ratio, rows[i].seed);
                /* What is ahead of the clock is of now; and of its minute, this is the end. */
                assert_int_equal(reading.peak_age_ms, 0);
                assert_int_equal(read_window(&windows, &max_1h, 75001).peak_age_ms, 1);
                windows_done(&windows);
        }
}

/* A mean says nothing of a minute that has one. */
TEST(seeds_of_one_minute) {
        struct windows windows = windows_new(&p99_1h, NULL);
        int64_t now_ms = MS_PER_HOUR;

        assert_true(window_store_seed(windows.store, &avg_5m, 0.5, 10 * MS_PER_MIN, now_ms));
        assert_true(window_store_seed(windows.store, &avg_5m, 0.9, 10 * MS_PER_MIN, now_ms));
        assert_false(window_store_seed(windows.store, &max_1h, 0.9, 5 * MS_PER_MIN, now_ms));
        (void)count(&windows, now_ms, 0, 4);
        (void)count(&windows, now_ms + 15000, 0, 4);
        check_value(&windows, &p99_1h, now_ms + 15000, 0.5);
        windows_done(&windows);
}
