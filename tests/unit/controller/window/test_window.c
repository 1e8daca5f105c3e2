/* Windows by worked example: cold start, edges, gaps, peaks, seeds, quantiles, another plan. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/window/window_plan.h"

#define CPU_BIT (1u << METRIC_CPU)
#define MEM_BIT (1u << METRIC_MEM)

static const struct metric_query cpu_avg_5m = {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query cpu_avg_1h = {METRIC_CPU, METRIC_AVG, MS_PER_HOUR};
static const struct metric_query cpu_max_1h = {METRIC_CPU, METRIC_MAX_AVG, MS_PER_HOUR};
static const struct metric_query cpu_max_1d = {METRIC_CPU, METRIC_MAX_AVG, MS_PER_DAY};
static const struct metric_query cpu_p50_1h = {METRIC_CPU, METRIC_P50, MS_PER_HOUR};
static const struct metric_query cpu_p99_1h = {METRIC_CPU, METRIC_P99, MS_PER_HOUR};
static const struct metric_query mem_avg_5m = {METRIC_MEM, METRIC_AVG, 5 * MS_PER_MIN};
static const struct metric_query mem_max_1h = {METRIC_MEM, METRIC_MAX_AVG, MS_PER_HOUR};
static const struct metric_query mem_max_1d = {METRIC_MEM, METRIC_MAX_AVG, MS_PER_DAY};

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

/* From the first half of its 5 minutes on a mean is one to remember. */
TEST(half_of_a_mean) {
        static const struct {
                int64_t span_ms;
                bool is_provisional;
        } rows[] = {{149999, true}, {150000, false}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct window_plan *plan = window_plan_new(&cpu_max_1h, 1, 15 * MS_PER_S);
                struct window_store *store = window_store_new(plan);
                scrape(store, 0, 0, 0);
                scrape(store, rows[i].span_ms, 0.5, 0);
                struct window_reading reading = window_read(store, &cpu_max_1h, rows[i].span_ms);
                assert_int_equal(reading.status, WINDOW_KNOWN);
                assert_int_equal(reading.is_provisional, rows[i].is_provisional);
                window_store_free(store);
                window_plan_free(plan);
        }
}

/* The largest value that counts: what is above it is no measurement. */
TEST(absurd) {
        static const struct {
                double value;
                enum window_status status;
        } rows[] = {{1e12, WINDOW_KNOWN}, {1e12 + 1, WINDOW_NO_DATA}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct window_plan *plan = window_plan_new(&mem_avg_5m, 1, 15 * MS_PER_S);
                struct window_store *store = window_store_new(plan);
                scrape(store, 0, 0, rows[i].value);
                scrape(store, 15000, 0, rows[i].value);
                assert_int_equal(window_read(store, &mem_avg_5m, 15000).status, rows[i].status);
                window_store_free(store);
                window_plan_free(plan);
        }
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
        /* Time does not go back, and a second step of the same moment is none. */
        assert_int_equal(scrape(store, 301000, 1, 1), 0);
        assert_int_equal(scrape(store, 5000, 1, 1), 0);
        check(store, &cpu_avg_5m, 301000, (0.5 + 19 * 0.1) / 20);
        window_store_free(store);
        window_plan_free(plan);
}

/* A mean's window ends with the newest scrape, whenever it is read; the interval across its old
 * edge counts by its share. */
TEST(edge) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);

        scrape(store, 0, 0, 0);
        scrape(store, 15000, 1, 1);
        run(store, 15000, 310 * MS_PER_S, 0, 0); /* up to 300 s */
        check(store, &cpu_avg_5m, 300000, 15.0 / 300);
        check(store, &cpu_avg_5m, 306000, 15.0 / 300);
        assert_int_equal(window_read(store, &cpu_avg_5m, 306000).age_ms, 6000);
        scrape(store, 306000, 0, 0);
        check(store, &cpu_avg_5m, 306000, 9.0 / 300);
        check(store, &mem_avg_5m, 306000, 9.0 / 300);
        check(store, &cpu_avg_5m, 605999, 9.0 / 300);
        check_status(store, &cpu_avg_5m, 606000, WINDOW_STALE);
        check_status(store, &mem_avg_5m, 606000, WINDOW_STALE);
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

TEST(gaps) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);

        scrape(store, 0, 0, 0);
        run(store, 0, 120000, 0.2, 0.2);
        /* 90 s without an answer: the counters know what happened, the gauge does not. */
        assert_int_equal(scrape(store, 210000, 0.8, 0.8), CPU_BIT);
        check(store, &cpu_avg_5m, 210000, (120 * 0.2 + 90 * 0.8) / 210);
        check(store, &mem_avg_5m, 210000, 0.2);
        assert_true(fabs(window_read(store, &mem_avg_5m, 210000).fullness - 0.4) < 1e-9);
        /* An hour without one: nobody knows. */
        int64_t later_ms = 210000 + MS_PER_HOUR;
        assert_int_equal(scrape(store, later_ms, 0.8, 0.8), 0);
        check_status(store, &cpu_avg_5m, later_ms, WINDOW_NO_DATA);
        scrape(store, later_ms + 15000, 0.1, 0.3);
        check(store, &cpu_avg_5m, later_ms + 15000, 0.1);
        check(store, &mem_avg_5m, later_ms + 15000, 0.3);
        /* A long-dead exporter, then one scrape after 80 days. */
        assert_int_equal(scrape(store, later_ms + 80 * MS_PER_DAY, 1, 1), 0);
        check_status(store, &cpu_max_1d, later_ms + 80 * MS_PER_DAY, WINDOW_NO_DATA);
        check_status(store, &cpu_avg_1h, later_ms + 80 * MS_PER_DAY, WINDOW_NO_DATA);
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
        static const double values[] = {NAN, INFINITY, -INFINITY, -1, 1e300, 1e13};
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
        /* More used than there was is all that there was. */
        struct window_step over = {.at_mono_ms = 308000, .counters = CPU_BIT};
        over.num[METRIC_CPU] = 500;
        over.den[METRIC_CPU] = 1;
        assert_int_equal(window_store_add(store, &over), CPU_BIT);
        assert_true(window_read(store, &cpu_avg_5m, 308000).ratio < 0.26);
        window_store_free(store);
        window_plan_free(plan);
}

TEST(peak_ages_out) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);
        int64_t burst_ms = 2 * MS_PER_HOUR, end_ms = burst_ms + 5 * MS_PER_MIN;

        scrape(store, 0, 0, 0);
        run(store, 0, burst_ms, 0.1, 0.4);
        run(store, burst_ms, end_ms, 0.9, 0.4);
        check(store, &cpu_max_1h, end_ms, 0.9);
        run(store, end_ms, end_ms + 4 * MS_PER_MIN, 0.1, 0.4);
        check(store, &cpu_avg_5m, end_ms + 4 * MS_PER_MIN, (0.9 + 4 * 0.1) / 5);
        check(store, &cpu_max_1h, end_ms + 4 * MS_PER_MIN, 0.9);
        run(store, end_ms + 4 * MS_PER_MIN, end_ms + MS_PER_HOUR - 15000, 0.1, 0.4);
        check(store, &cpu_max_1h, end_ms + MS_PER_HOUR - 15000, 0.9); /* not a scrape early */
        run(store, end_ms + MS_PER_HOUR - 15000, end_ms + MS_PER_DAY - 15000, 0.1, 0.4);
        check(store, &cpu_max_1h, end_ms + MS_PER_DAY - 15000, 0.1);
        check(store, &cpu_max_1d, end_ms + MS_PER_DAY - 15000, 0.9);
        run(store, end_ms + MS_PER_DAY - 15000, end_ms + MS_PER_DAY + 10 * MS_PER_MIN, 0.1, 0.4);
        check(store, &cpu_max_1d, end_ms + MS_PER_DAY + 10 * MS_PER_MIN, 0.1);
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

TEST(quantiles) {
        struct window_plan *plan = plan_all();
        struct window_store *store = window_store_new(plan);
        int64_t end_ms = MS_PER_HOUR;

        scrape(store, 0, 0, 0);
        run(store, 0, end_ms - 10 * MS_PER_MIN, 0.2, 0);
        run(store, end_ms - 10 * MS_PER_MIN, end_ms, 0.7, 0);
        check(store, &cpu_p50_1h, end_ms, 0.2);
        check(store, &cpu_p99_1h, end_ms, 0.7);
        check(store, &cpu_max_1h, end_ms, 0.7);
        window_store_free(store);
        window_plan_free(plan);
}

TEST(replan) {
        const struct metric_query fewer[] = {cpu_avg_5m, cpu_max_1d};
        const struct metric_query other[] = {
                {METRIC_CPU, METRIC_AVG, 30 * MS_PER_MIN},
                {METRIC_CPU, METRIC_MAX, 6 * MS_PER_HOUR},
                {METRIC_DISK, METRIC_AVG, 5 * MS_PER_MIN},
        };
        struct window_plan *plan = plan_all();
        struct window_plan *plan_fewer = window_plan_new(fewer, 2, 15 * MS_PER_S);
        struct window_plan *plan_other = window_plan_new(other, 3, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        int64_t now_ms = 4 * MS_PER_HOUR + 7000;

        scrape(store, 0, 0, 0);
        run(store, 0, 2 * MS_PER_HOUR, 0.6, 0.4);
        run(store, 2 * MS_PER_HOUR, 4 * MS_PER_HOUR - 2 * MS_PER_MIN, 0.2, 0.4);
        run(store, 4 * MS_PER_HOUR - 2 * MS_PER_MIN, 4 * MS_PER_HOUR, 0.3, 0.4);

        /* The same windows in another order: the same to the bit. */
        const struct metric_query kept[] = {cpu_max_1d, cpu_max_1h, cpu_avg_1h, cpu_avg_5m};
        struct window_plan *plan_kept = window_plan_new(kept, ARRAY_LEN(kept), 15 * MS_PER_S);
        double before[ARRAY_LEN(kept)];
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                before[i] = window_read(store, &kept[i], now_ms).ratio;
        store = window_store_replan(store, plan_kept, NULL);
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
                assert_true(window_read(store, &kept[i], now_ms).ratio == before[i]);
        check(store, &cpu_max_1d, now_ms, 0.6);
        check_status(store, &mem_avg_5m, now_ms, WINDOW_NOT_PLANNED);

        /* A window that only the new policy has begins empty, and has its own from then on. */
        store = window_store_replan(store, plan_other, NULL);
        check_status(store, &other[0], 4 * MS_PER_HOUR, WINDOW_NO_DATA);
        /* The 5-minute mean, which maxima are made of, is in both. */
        check(store, &other[1], 4 * MS_PER_HOUR, (3 * 0.2 + 2 * 0.3) / 5);
        check_status(store, &other[2], now_ms, WINDOW_NO_DATA);
        run(store, 4 * MS_PER_HOUR, 5 * MS_PER_HOUR, 0.3, 0);
        check(store, &other[0], 5 * MS_PER_HOUR, 0.3);
        check(store, &other[1], 5 * MS_PER_HOUR, 0.3);

        /* Even an empty store can change its plan, and keeps its seeds. */
        struct window_store *empty = window_store_new(plan);
        assert_true(window_store_seed(empty, &cpu_max_1d, 0.5, MS_PER_MIN, now_ms));
        empty = window_store_replan(empty, plan_fewer, NULL);
        scrape(empty, now_ms, 0, 0);
        scrape(empty, now_ms + 15000, 0, 0);
        check(empty, &cpu_max_1d, now_ms + 15000, 0.5);
        window_store_free(empty);
        window_plan_free(plan_kept);
        window_store_free(store);
        window_plan_free(plan_fewer);
        window_plan_free(plan_other);
        window_plan_free(plan);
}

/* A policy's own resources are numbered in its order, which another policy may change. */
TEST(renumbered) {
        enum { OWN = METRIC_RESOURCE_COUNT };
        const struct metric_query before[] = {
                {OWN, METRIC_AVG, 5 * MS_PER_MIN},
                {OWN + 1, METRIC_MAX, MS_PER_HOUR},
                {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN},
        };
        const struct metric_query after[] = {
                {OWN, METRIC_MAX, MS_PER_HOUR},
                {OWN + 1, METRIC_AVG, 5 * MS_PER_MIN},
                {OWN + 2, METRIC_AVG, 5 * MS_PER_MIN},
                {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN},
        };
        struct window_plan *plan = window_plan_new(before, ARRAY_LEN(before), 15 * MS_PER_S);
        struct window_plan *plan_after = window_plan_new(after, ARRAY_LEN(after), 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        struct window_renumbering renumbering;
        int64_t now_ms = 0;

        for (; now_ms <= 10 * MS_PER_MIN; now_ms += 15 * MS_PER_S) {
                struct window_step step = {
                        .at_mono_ms = now_ms,
                        .gauges = 1u << OWN | 1u << (OWN + 1) | 1u << METRIC_CPU,
                };
                step.num[OWN] = 0.25;
                step.num[OWN + 1] = 0.5;
                step.num[METRIC_CPU] = 0.75;
                (void)window_store_add(store, &step);
        }
        now_ms -= 15 * MS_PER_S;

        for (int8_t i = 0; i < WINDOW_MAX_CHANNELS; i++)
                renumbering.was[i] = i < OWN ? i : -1;
        renumbering.was[OWN] = OWN + 1;
        renumbering.was[OWN + 1] = OWN;
        store = window_store_replan(store, plan_after, &renumbering);
        check(store, &after[0], now_ms, 0.5);
        check(store, &after[1], now_ms, 0.25);
        check_status(store, &after[2], now_ms, WINDOW_NO_DATA);
        check(store, &after[3], now_ms, 0.75);
        window_store_free(store);
        window_plan_free(plan_after);
        window_plan_free(plan);
}
