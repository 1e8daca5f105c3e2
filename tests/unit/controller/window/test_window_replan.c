/* Another plan: windows that both plans have keep their history. */
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
        struct window_renumbering same;

        for (int i = 0; i < WINDOW_MAX_CHANNELS; i++)
                same.was[i] = i;
        store = window_store_replan(store, next, &same);
        window_plan_free(*plan);
        *plan = next;
        return store;
}

/* Means, peaks and quantiles read as before, whatever stands next to them in the plan; a window
 * that is new knows only what comes from now on. */
TEST(kept_windows) {
        static const struct metric_query kept[] = {
                {METRIC_CPU, METRIC_AVG, WINDOW_MEAN_MS}, {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},    {METRIC_CPU, METRIC_MAX, MS_PER_HOUR},
                {METRIC_MEM, METRIC_MAX, MS_PER_HOUR},    {METRIC_CPU, METRIC_P50, MS_PER_HOUR},
        };
        enum { KEPT = ARRAY_LEN(kept) };
        struct metric_query reversed[KEPT + 2];
        struct window_reading before[KEPT];
        struct window_plan *plan = window_plan_new(kept, KEPT, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);
        int64_t now_ms = 100 * MS_PER_MIN; /* the rings have gone around */

        for (int64_t at_ms = 0; at_ms <= now_ms; at_ms += 15 * MS_PER_S)
                count(store, at_ms, (double)at_ms / (double)now_ms, at_ms < now_ms / 2);
        for (size_t i = 0; i < KEPT; i++) {
                before[i] = window_read(store, &kept[i], now_ms);
                reversed[KEPT - i] = kept[i];
        }
        reversed[0] = (struct metric_query){METRIC_CPU, METRIC_AVG, 2 * MS_PER_HOUR};
        reversed[KEPT + 1] = (struct metric_query){METRIC_CPU, METRIC_MAX, 2 * MS_PER_HOUR};
        store = replan(store, &plan, reversed, KEPT + 2);
        for (size_t i = 0; i < KEPT; i++) {
                struct window_reading after = window_read(store, &kept[i], now_ms);
                check(store, &kept[i], now_ms, before[i].ratio);
                assert_true(fabs(after.fullness - before[i].fullness) < 1e-9);
                assert_int_equal(after.peak_age_ms, before[i].peak_age_ms);
        }
        assert_int_equal(window_read(store, &reversed[0], now_ms).status, WINDOW_NO_DATA);

        now_ms += 15 * MS_PER_S;
        count(store, now_ms, 0.25, 0.25);
        check(store, &reversed[0], now_ms, 0.25);
        assert_true(window_read(store, &reversed[0], now_ms).is_provisional);
        check(store, &kept[4], now_ms, before[4].ratio);
        window_store_free(store);
        window_plan_free(plan);
}

/* A channel's number may be another's in the new plan. */
TEST(renumbered) {
        static const struct metric_query queries[] = {
                {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},
                {METRIC_CPU, METRIC_MAX, MS_PER_HOUR},
                {METRIC_MEM, METRIC_MAX, MS_PER_HOUR},
        };
        struct window_renumbering renumbering;
        struct window_plan *plan = window_plan_new(queries, 4, 15 * MS_PER_S);
        struct window_plan *next = window_plan_new(queries, 4, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);

        for (size_t i = 0; i < WINDOW_MAX_CHANNELS; i++)
                renumbering.was[i] = -1;
        renumbering.was[METRIC_MEM] = METRIC_CPU;
        for (int64_t at_ms = 0; at_ms <= 10 * MS_PER_MIN; at_ms += 15 * MS_PER_S)
                count(store, at_ms, 0.5, 0.75);
        store = window_store_replan(store, next, &renumbering);
        window_plan_free(plan);
        check(store, &queries[1], 10 * MS_PER_MIN, 0.5);
        check(store, &queries[3], 10 * MS_PER_MIN, 0.5);
        assert_int_equal(window_read(store, &queries[0], 10 * MS_PER_MIN).status, WINDOW_NO_DATA);
        assert_int_equal(window_read(store, &queries[2], 10 * MS_PER_MIN).status, WINDOW_NO_DATA);
        window_store_free(store);
        window_plan_free(next);
}

/* Channels that had no window begin with nothing, with other channels or without. */
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

/* Even an empty store can change its plan, and keeps its seeds. */
TEST(seeds) {
        static const struct metric_query queries[] = {
                {METRIC_CPU, METRIC_MAX, MS_PER_DAY},
                {METRIC_MEM, METRIC_AVG, MS_PER_HOUR},
        };
        struct window_plan *plan = window_plan_new(queries, 2, 15 * MS_PER_S);
        struct window_store *store = window_store_new(plan);

        assert_true(window_store_seed(store, &queries[0], 0.5, MS_PER_MIN, 0));
        store = replan(store, &plan, queries, 1);
        count(store, 0, 0, 0);
        count(store, 15000, 0, 0);
        check(store, &queries[0], 15000, 0.5);
        assert_int_equal(window_read(store, &queries[1], 15000).status, WINDOW_NOT_PLANNED);
        window_store_free(store);
        window_plan_free(plan);
}
