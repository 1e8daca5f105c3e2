/* Another plan: which of the old windows fills a new one, and with what. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/clock.h"
#include "controller/window/window.h"

#define CPU_BIT (1u << METRIC_CPU)
#define MEM_BIT (1u << METRIC_MEM)

static void check(const struct window_store *store, const struct metric_query *query,
                  int64_t now_ms, double expected) {
        struct window_reading reading = window_read(store, query, now_ms);

        if (reading.status != WINDOW_KNOWN)
                fail_msg("%s", window_status_text(reading.status));
        if (!(fabs(reading.ratio - expected) < 1e-6))
                fail_msg("%.9g, not %.9g", reading.ratio, expected);
}

/* One scrape of counters, of which memory's are small. */
static void count(struct window_store *store, int64_t at_ms, double cpu, double mem) {
        struct window_step step = {.at_mono_ms = at_ms, .counters = CPU_BIT | MEM_BIT};

        step.num[METRIC_CPU] = cpu;
        step.den[METRIC_CPU] = 1;
        step.num[METRIC_MEM] = mem / 100;
        step.den[METRIC_MEM] = 1.0 / 100;
        (void)window_store_add(store, &step);
}

static struct window_store *replan(struct window_store *store, struct window_plan **plan,
                                   const struct metric_query *queries, size_t query_count) {
        struct window_plan *next = window_plan_new(queries, query_count, 15 * MS_PER_S);

        store = window_store_replan(store, next, NULL);
        window_plan_free(*plan);
        *plan = next;
        return store;
}

/* The shortest window that is long enough, else the longest: each has a peak of its own. */
TEST(closest) {
        enum { MOST = 3 };
        static const struct {
                int64_t old_min[MOST], new_min, from_min;
        } rows[] = {
                {{60, 120}, 60, 60},       {{120, 60}, 60, 60},      {{60, 120, 180}, 90, 120},
                {{180, 120, 60}, 90, 120}, {{120, 180}, 90, 120},    {{30, 45}, 60, 45},
                {{45, 30}, 60, 45},        {{30, 120, 45}, 60, 120}, {{120, 30}, 60, 120},
                {{60}, 240, 60},           {{240}, 60, 240},         {{60, 120}, 120, 120},
                {{180, 120}, 120, 120},    {{120, 180}, 120, 120},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct metric_query queries[MOST];
                size_t query_count = 0;
                for (; query_count < MOST && rows[i].old_min[query_count] > 0; query_count++)
                        queries[query_count] = (struct metric_query){
                                METRIC_CPU, METRIC_MAX, rows[i].old_min[query_count] * MS_PER_MIN};
                struct window_plan *plan = window_plan_new(queries, query_count, 15 * MS_PER_S);
                struct window_store *store = window_store_new(plan);
                for (size_t q = 0; q < query_count; q++)
                        assert_true(window_store_seed(store, &queries[q],
                                                      (double)rows[i].old_min[q] / 240, 60000, 0));
                queries[0].window_ms = rows[i].new_min * MS_PER_MIN;
                store = replan(store, &plan, queries, 1);
                count(store, 0, 0, 0);
                count(store, 15000, 0, 0);
                check(store, &queries[0], 15000, (double)rows[i].from_min / 240);
                window_store_free(store);
                window_plan_free(plan);
        }
}

/* A ring that has other channels only is no origin. */
TEST(by_channel) {
        struct metric_query queries[] = {
                {METRIC_CPU, METRIC_MAX, MS_PER_HOUR},
                {METRIC_MEM, METRIC_MAX, 2 * MS_PER_HOUR},
        };
        struct window_plan *plan = window_plan_new(queries, 2, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);

        assert_true(window_store_seed(store, &queries[0], 0.25, 60000, 0));
        assert_true(window_store_seed(store, &queries[1], 0.5, 60000, 0));
        queries[0].window_ms = 2 * MS_PER_HOUR;
        queries[1].window_ms = MS_PER_HOUR;
        store = replan(store, &plan, queries, 2);
        count(store, 0, 0, 0);
        count(store, 15000, 0, 0);
        check(store, &queries[0], 15000, 0.25);
        check(store, &queries[1], 15000, 0.5);
        window_store_free(store);
        window_plan_free(plan);
}

/* Channels that had no window begin with nothing, beside other channels or without. */
TEST(new_channel) {
        static const struct metric_query cpu = {METRIC_CPU, METRIC_AVG, MS_PER_HOUR};
        static const struct metric_query both[] = {
                {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},
        };
        static const struct metric_query mem = {METRIC_MEM, METRIC_AVG, 10 * MS_PER_MIN};

        for (int i = 0; i < 2; i++) {
                struct window_plan *plan = window_plan_new(&cpu, 1, 15 * MS_PER_S);
                struct window_store *store = window_store_new(plan);
                const struct metric_query *query = i == 0 ? &both[1] : &mem;
                count(store, 0, 0.5, 0.5);
                count(store, 15000, 0.5, 0.5);
                store = i == 0 ? replan(store, &plan, both, 2) : replan(store, &plan, &mem, 1);
                assert_int_equal(window_read(store, query, 15000).status, WINDOW_NO_DATA);
                count(store, 30000, 0.25, 0.25);
                check(store, query, 30000, 0.25);
                if (i == 0)
                        check(store, &both[0], 30000, 0.375);
                window_store_free(store);
                window_plan_free(plan);
        }
}

/* The cells of a shorter window, among those of a longer one: each at its time. */
TEST(cells_keep_their_time) {
        static const struct metric_query before[] = {
                {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, 30 * MS_PER_MIN},
        };
        static const struct metric_query after[] = {
                {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, 2 * MS_PER_MIN},
        };
        struct window_plan *plan = window_plan_new(before, 2, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        int64_t now_ms = 20 * MS_PER_MIN;

        /* Busy in its first minute and in the last one. */
        for (int64_t at_ms = 0; at_ms <= now_ms; at_ms += 15 * MS_PER_S) {
                bool is_busy = at_ms <= MS_PER_MIN || at_ms > now_ms - MS_PER_MIN;
                count(store, at_ms, is_busy, is_busy);
        }
        store = replan(store, &plan, after, 3);
        check(store, &after[0], now_ms, 0.1);
        check(store, &after[1], now_ms, 0.1);
        check(store, &after[2], now_ms, 0.5);
        assert_true(fabs(window_read(store, &after[1], now_ms).fullness - 1.0 / 3) < 1e-6);
        window_store_free(store);
        window_plan_free(plan);
}

/* All buckets of a ring that has gone around, the empty ones of which are none. */
TEST(buckets) {
        struct metric_query query = {METRIC_CPU, METRIC_P50, MS_PER_HOUR};
        struct window_plan *plan = window_plan_new(&query, 1, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        int64_t now_ms = 100 * MS_PER_MIN;

        for (int64_t at_ms = 0; at_ms <= now_ms; at_ms += MS_PER_MIN) {
                struct window_step step = {.at_mono_ms = at_ms, .means = CPU_BIT};
                step.num[METRIC_CPU] = at_ms > now_ms - 10 * MS_PER_MIN ? 0.5 : 0;
                (void)window_store_add(store, &step);
        }
        query.window_ms = 2 * MS_PER_HOUR;
        store = replan(store, &plan, &query, 1);
        check(store, &query, now_ms, 0);
        assert_true(fabs(window_read(store, &query, now_ms).fullness - 61.0 / 120) < 1e-9);
        window_store_free(store);
        window_plan_free(plan);
}
