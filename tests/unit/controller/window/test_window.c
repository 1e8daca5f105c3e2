/* Windows by worked example: cold start, outages, nonsense, seeds, means. What the property of
 * test_window_property.c covers is not here. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/clock.h"
#include "controller/window/window_plan.h"

#define CPU_BIT (1u << METRIC_CPU)
#define MEM_BIT (1u << METRIC_MEM)

static const struct metric_query cpu_avg_5m = {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query cpu_avg_1h = {METRIC_CPU, METRIC_AVG, MS_PER_HOUR};
static const struct metric_query cpu_max_1h = {METRIC_CPU, METRIC_MAX, MS_PER_HOUR};
static const struct metric_query cpu_max_1d = {METRIC_CPU, METRIC_MAX, MS_PER_DAY};
static const struct metric_query cpu_p50_1h = {METRIC_CPU, METRIC_P50, MS_PER_HOUR};
static const struct metric_query cpu_p99_1h = {METRIC_CPU, METRIC_P99, MS_PER_HOUR};
static const struct metric_query mem_avg_5m = {METRIC_MEM, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query mem_max_1h = {METRIC_MEM, METRIC_MAX, MS_PER_HOUR};
static const struct metric_query mem_max_1d = {METRIC_MEM, METRIC_MAX, MS_PER_DAY};

static struct window_plan *plan_all(void) {
        const struct metric_query queries[] = {
                cpu_avg_5m, cpu_avg_1h, cpu_max_1h, cpu_max_1d, cpu_p50_1h,
                cpu_p99_1h, mem_avg_5m, mem_max_1h, mem_max_1d,
        };
        return window_plan_new(queries, ARRAY_LEN(queries), 15 * MS_PER_S);
}

/* One scrape of a 4-CPU node: the CPU's ratio since the one before, the memory's now. */
static uint32_t scrape(struct window_store *store, int64_t at_ms, double cpu, double mem) {
        struct window_step step = {.at_mono_ms = at_ms, .counters = CPU_BIT, .gauges = MEM_BIT};

        if (store->step_count > 0)
                step.den[METRIC_CPU] = 4 * (double)(at_ms - store->last_mono_ms) / 1e3;
        step.num[METRIC_CPU] = cpu * step.den[METRIC_CPU];
        step.num[METRIC_MEM] = mem;
        return window_store_add(store, &step);
}

/* A scrape each 15 s, from after @from_ms to @to_ms. */
static void run(struct window_store *store, int64_t from_ms, int64_t to_ms, double cpu,
                double mem) {
        for (int64_t at_ms = from_ms + 15 * MS_PER_S; at_ms <= to_ms; at_ms += 15 * MS_PER_S)
                scrape(store, at_ms, cpu, mem);
}

static void check(const struct window_store *store, const struct metric_query *query,
                  int64_t now_ms, double expected) {
        struct window_reading reading = window_read(store, query, now_ms);

        if (reading.status != WINDOW_KNOWN)
                fail_msg("%s", window_status_text(reading.status));
        if (fabs(reading.ratio - expected) > 1e-6)
                fail_msg("%.9g, not %.9g", reading.ratio, expected);
}

static void check_status(const struct window_store *store, const struct metric_query *query,
                         int64_t now_ms, enum window_status expected) {
        struct window_reading reading = window_read(store, query, now_ms);

        if (reading.status != expected)
                fail_msg("%s, not %s", window_status_text(reading.status),
                         window_status_text(expected));
}

TEST(plan) {
        const struct metric_query by_default[] = {
                cpu_avg_5m, cpu_max_1h, cpu_max_1d, mem_avg_5m, mem_max_1h, mem_max_1d,
        };
        struct window_plan *plan = window_plan_new(by_default, 6, 15 * MS_PER_S);

        /* With the counters of a 4-CPU node (160 bytes), within the 4 KiB that are set for a node.
         */
        assert_true(plan->store_bytes <= 4096 - 160);
        window_plan_free(plan);
        plan = window_plan_new(NULL, 0, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        assert_int_equal(scrape(store, 0, 1, 1), 0);
        assert_int_equal(scrape(store, 15000, 1, 1), 0);
        check_status(store, &cpu_avg_5m, 15000, WINDOW_NOT_PLANNED);
        window_store_free(store);
        window_plan_free(plan);

        const struct metric_query endless = {METRIC_CPU, METRIC_AVG, INT64_MAX};
        assert_int_equal(window_length_ms(&endless), 366 * MS_PER_DAY);
        assert_int_equal(window_resolution_ms(1), 1);
        assert_int_equal(window_resolution_ms(100 * MS_PER_S), 4 * MS_PER_S);
        assert_int_equal(window_resolution_ms(5 * MS_PER_MIN), 12 * MS_PER_S);
        assert_int_equal(window_resolution_ms(MS_PER_HOUR), MS_PER_MIN);
        assert_int_equal(window_resolution_ms(MS_PER_DAY), 5 * MS_PER_MIN);
        assert_int_equal(window_resolution_ms(7 * MS_PER_DAY), 35 * MS_PER_MIN);
}

/* A gauge says nothing of the time between two scrapes that are more than four intervals apart. */
TEST(gap_of_slow_scrapes) {
        static const struct {
                int64_t span_ms;
                enum window_status status;
        } rows[] = {{240000, WINDOW_KNOWN}, {240001, WINDOW_NO_DATA}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct window_plan *plan = window_plan_new(&mem_avg_5m, 1, MS_PER_MIN);
                struct window_store *store = window_store_new(plan);
                scrape(store, 0, 0, 0.5);
                scrape(store, rows[i].span_ms, 0, 0.5);
                assert_int_equal(window_read(store, &mem_avg_5m, rows[i].span_ms).status,
                                 rows[i].status);
                window_store_free(store);
                window_plan_free(plan);
        }
}

/* Windows of every length have bounded memory, even those that make no sense. */
TEST(odd_windows) {
        static const int64_t windows_ms[] = {
                1, 59, MS_PER_S, 61 * MS_PER_MIN, MS_PER_DAY + 1, 300 * MS_PER_DAY, INT64_MAX,
        };

        for (size_t i = 0; i < ARRAY_LEN(windows_ms); i++) {
                for (enum metric_statistic s = METRIC_AVG; s <= METRIC_P99; s++) {
                        struct metric_query query = {METRIC_CPU, s, windows_ms[i]};
                        struct window_plan *plan = window_plan_new(&query, 1, 15 * MS_PER_S);
                        struct window_store *store = window_store_new(plan);
                        assert_true(plan->store_bytes < 8192);
                        run(store, 0, MS_PER_HOUR, 0.5, 0);
                        check(store, &query, MS_PER_HOUR, 0.5);
                        window_store_free(store);
                        window_plan_free(plan);
                }
        }
}

TEST(cold_start) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);

        check_status(store, &cpu_avg_5m, 0, WINDOW_NO_SCRAPE);
        scrape(store, 1000, 0.9, 0.3);
        check_status(store, &cpu_avg_5m, 1000, WINDOW_ONE_SCRAPE);
        check_status(store, &mem_max_1d, 1000, WINDOW_ONE_SCRAPE);
        assert_int_equal(scrape(store, 16000, 0.5, 0.3), CPU_BIT | MEM_BIT);
        check(store, &cpu_avg_5m, 16000, 0.5);
        check(store, &cpu_max_1d, 16000, 0.5);
        check(store, &cpu_p99_1h, 16000, 0.5);
        check(store, &mem_avg_5m, 16000, 0.3);
        assert_true(fabs(window_read(store, &cpu_avg_5m, 16000).fullness - 0.05) < 1e-9);
        /* The first seconds are published, but no peak to stand for a day. */
        scrape(store, 31000, 0.1, 0.3);
        check(store, &cpu_max_1d, 31000, 0.3);
        run(store, 31000, 301000, 0.1, 0.3);
        assert_true(window_read(store, &cpu_avg_5m, 301000).fullness == 1);
        check(store, &cpu_avg_5m, 301000, (0.5 + 19 * 0.1) / 20);
        /* Time does not go back. */
        assert_int_equal(scrape(store, 5000, 1, 1), 0);
        check(store, &cpu_avg_5m, 301000, (0.5 + 19 * 0.1) / 20);
        window_store_free(store);
        window_plan_free(plan);
}

/* More scrapes than cells: several share one, and memory stays what it is. */
TEST(fast_scrapes) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);
        int64_t end_ms = 2 * MS_PER_HOUR;

        for (int64_t at_ms = 0; at_ms <= end_ms; at_ms += MS_PER_S)
                scrape(store, at_ms, at_ms % (10 * MS_PER_S) < 3 * MS_PER_S, 0.5);
        assert_true(fabs(window_read(store, &cpu_avg_5m, end_ms).ratio - 0.3) < 0.01);
        assert_true(fabs(window_read(store, &cpu_avg_1h, end_ms).ratio - 0.3) < 0.001);
        assert_true(fabs(window_read(store, &cpu_max_1h, end_ms).ratio - 0.3) < 0.02);
        check(store, &mem_max_1d, end_ms, 0.5);
        window_store_free(store);
        window_plan_free(plan);
}

/* A cell that was open when an outage began takes the outage in, but does not know about it. */
TEST(outages_are_not_covered) {
        const struct metric_query queries[] = {mem_avg_5m, mem_max_1h};
        struct window_plan *often = window_plan_new(queries, ARRAY_LEN(queries), 5 * MS_PER_S);
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(often);
        int64_t back_ms = 290 * MS_PER_S;

        /* Five seconds of memory, and nothing until five minutes later: no 5-minute peak. */
        scrape(store, 0, 0, 0.9);
        scrape(store, 5000, 0, 0.9);
        scrape(store, back_ms, 0, 0.1);
        assert_true(window_read(store, &mem_max_1h, back_ms).is_provisional);
        for (int64_t at_ms = back_ms; at_ms <= back_ms + 10 * MS_PER_MIN; at_ms += 5000)
                scrape(store, at_ms, 0, 0.1);
        check(store, &mem_max_1h, back_ms + 10 * MS_PER_MIN, 0.1);
        window_store_free(store);
        window_plan_free(often);

        /* Half an hour without an answer is half an hour without data. */
        store = window_store_new(plan);
        back_ms = 50 * MS_PER_MIN + 15 * MS_PER_S;
        scrape(store, 0, 0, 0);
        run(store, 0, 20 * MS_PER_MIN + 15 * MS_PER_S, 0.2, 0.2);
        scrape(store, back_ms, 0.2, 0.2);
        assert_true(fabs(window_read(store, &cpu_avg_1h, back_ms).fullness - 20.25 / 60) < 1e-9);
        window_store_free(store);
        window_plan_free(plan);
}

TEST(absurd_steps) {
        static const double values[] = {NAN, INFINITY, -INFINITY, -1, 1e300, 1e12 + 1};
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);

        scrape(store, 0, 0, 0);
        run(store, 0, 300000, 0.25, 0.5);
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
                int64_t at_ms = 301000 + (int64_t)i * 1000;
                struct window_step step = {
                        .at_mono_ms = at_ms,
                        .counters = CPU_BIT,
                        .gauges = MEM_BIT,
                        .num = {[METRIC_CPU] = values[i], [METRIC_MEM] = values[i]},
                        .den = {[METRIC_CPU] = 60},
                };
                assert_int_equal(window_store_add(store, &step), 0);
                step.at_mono_ms = at_ms + 500;
                step.num[METRIC_CPU] = 1;
                step.den[METRIC_CPU] = values[i];
                assert_int_equal(window_store_add(store, &step), 0);
        }
        check(store, &cpu_avg_5m, 307000, 0.25);
        check(store, &mem_avg_5m, 307000, 0.5);
        struct window_step empty = {.at_mono_ms = 307500, .counters = CPU_BIT};
        empty.num[METRIC_CPU] = 1;
        assert_int_equal(window_store_add(store, &empty), 0);
        /* More used than there was is all that there was. */
        struct window_step over = {.at_mono_ms = 308000, .counters = CPU_BIT};
        over.num[METRIC_CPU] = 500;
        over.den[METRIC_CPU] = 1;
        assert_int_equal(window_store_add(store, &over), CPU_BIT);
        assert_true(window_read(store, &cpu_avg_5m, 308000).ratio < 0.26);
        assert_int_equal(scrape(store, 309000, 1, 1e12), CPU_BIT | MEM_BIT); /* the largest */
        window_store_free(store);
        window_plan_free(plan);
}

/* A restart: the peaks that the annotations hold are known as soon as anything is. */
TEST(seeds) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);
        const struct metric_query max_5m = {METRIC_CPU, METRIC_MAX, 5 * MS_PER_MIN};
        const struct metric_query disk = {METRIC_DISK, METRIC_MAX, MS_PER_HOUR};
        int64_t start_ms = 5 * MS_PER_S; /* the machine's: seeds lie at negative times */

        assert_true(window_store_seed(store, &cpu_max_1d, 0.8, 20 * MS_PER_HOUR, start_ms));
        assert_true(window_store_seed(store, &cpu_max_1h, 0.6, 10 * MS_PER_MIN, start_ms));
        assert_true(window_store_seed(store, &cpu_avg_5m, 0.7, 2 * MS_PER_MIN, start_ms));
        assert_true(window_store_seed(store, &max_5m, 0.2, -MS_PER_DAY, start_ms));
        assert_true(window_store_seed(store, &mem_max_1d, 0.5, MS_PER_DAY - 1, start_ms));
        assert_false(window_store_seed(store, &mem_max_1d, 0.9, MS_PER_DAY, start_ms));
        assert_false(window_store_seed(store, &cpu_avg_1h, 0.9, 0, start_ms));
        assert_false(window_store_seed(store, &cpu_p99_1h, 0.9, 0, start_ms));
        assert_false(window_store_seed(store, &disk, 0.9, 0, start_ms));
        assert_false(window_store_seed(store, &cpu_max_1d, NAN, 0, start_ms));
        assert_false(window_store_seed(store, &cpu_max_1d, -0.1, 0, start_ms));
        /* An old peak on its own is not published: with a new timestamp it would outlive its
         * window. */
        check_status(store, &cpu_max_1d, start_ms, WINDOW_NO_SCRAPE);
        scrape(store, start_ms, 0, 0);
        check_status(store, &cpu_max_1d, start_ms, WINDOW_ONE_SCRAPE);
        run(store, start_ms, start_ms + MS_PER_MIN, 0.1, 0.1);
        int64_t now_ms = start_ms + MS_PER_MIN;
        check(store, &cpu_max_1d, now_ms, 0.8);
        check(store, &cpu_max_1h, now_ms, 0.7); /* of the 5-minute mean, the newest peak */
        check(store, &mem_max_1d, now_ms, 0.5);
        check(store, &mem_max_1h, now_ms, 0.1);
        run(store, now_ms, start_ms + MS_PER_HOUR, 0.1, 0.1);
        check(store, &cpu_max_1h, start_ms + MS_PER_HOUR, 0.2);
        check(store, &cpu_max_1d, start_ms + MS_PER_HOUR, 0.8);
        check(store, &mem_max_1d, start_ms + MS_PER_HOUR, 0.1);
        run(store, start_ms + MS_PER_HOUR, start_ms + 5 * MS_PER_HOUR, 0.1, 0.1);
        check(store, &cpu_max_1d, start_ms + 5 * MS_PER_HOUR, 0.7);
        window_store_free(store);
        window_plan_free(plan);
}

/* Means that a server computed: each is a peak at once, and a mean of its own moment in between. */
TEST(means) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);
        struct window_step step = {.at_mono_ms = 1000, .means = 1u << METRIC_CPU};

        for (int i = 0; i < 10; i++)
                assert_true(window_store_seed(store, &cpu_avg_5m, 0.1 * i, i * MS_PER_MIN, 1000));
        check_status(store, &cpu_max_1h, 1000, WINDOW_NO_SCRAPE);
        step.num[METRIC_CPU] = 0.4;
        assert_int_equal(window_store_add(store, &step), 0); /* no interval, but */
        check(store, &cpu_max_1h, 1000, 0.9);
        check(store, &cpu_max_1d, 1000, 0.9);
        check(store, &cpu_p50_1h, 1000, 0.4); /* of 0.4 in place of 0, and 0.1 to 0.9 */
        check_status(store, &cpu_avg_1h, 1000, WINDOW_ONE_SCRAPE);

        /* 0.95 for half a minute is a peak as it stands, not spread over its five minutes. */
        step = (struct window_step){.at_mono_ms = 31000, .means = 1u << METRIC_CPU};
        step.num[METRIC_CPU] = 0.95;
        assert_int_equal(window_store_add(store, &step), 1u << METRIC_CPU);
        check(store, &cpu_max_1h, 31000, 0.95);
        check(store, &cpu_avg_1h, 31000, 0.95);
        step.at_mono_ms = 61000;
        step.num[METRIC_CPU] = 0.35;
        (void)window_store_add(store, &step);
        check(store, &cpu_max_1h, 61000, 0.95);
        check(store, &cpu_avg_1h, 61000, 0.65);

        /* Nonsense is neither. */
        step.at_mono_ms = 91000;
        step.num[METRIC_CPU] = NAN;
        assert_int_equal(window_store_add(store, &step), 0);
        step.at_mono_ms = 121000;
        step.num[METRIC_CPU] = -1;
        assert_int_equal(window_store_add(store, &step), 0);
        check(store, &cpu_max_1h, 121000, 0.95);
        window_store_free(store);
        window_plan_free(plan);
}

/* Of one channel the means begin again, and all else goes on. */
TEST(restarted_means) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);

        run(store, -15000, 10 * MS_PER_MIN, 0.2, 0.4);
        window_store_restart_means(store, METRIC_MEM);
        check_status(store, &mem_avg_5m, 10 * MS_PER_MIN, WINDOW_NO_DATA);
        check(store, &mem_max_1h, 10 * MS_PER_MIN, 0.4);
        check(store, &cpu_avg_5m, 10 * MS_PER_MIN, 0.2);
        check(store, &cpu_avg_1h, 10 * MS_PER_MIN, 0.2);
        window_store_free(store);
        window_plan_free(plan);
}
