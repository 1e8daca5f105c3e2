/* How the windows of a policy are laid out. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "controller/window/window_plan.h"

#define CPU_BIT (1u << METRIC_CPU)
#define MEM_BIT (1u << METRIC_MEM)

TEST(resolution) {
        static const struct {
                int64_t window_ms, resolution_ms;
        } rows[] = {
                {1, 1},
                {49, 1},
                {50, 2}, /* 25 cells, until they are of 12 s */
                {5 * MS_PER_MIN - 1, 11999},
                {5 * MS_PER_MIN, 12000},
                {5 * MS_PER_MIN + 5000, 12000},
                {6 * MS_PER_MIN, 12000},
                {12 * MS_PER_MIN, 12000},
                {12 * MS_PER_MIN + 60, 12001}, /* 60 cells */
                {MS_PER_HOUR, MS_PER_MIN},
                {MS_PER_HOUR + 1, MS_PER_MIN}, /* until they are of a minute */
                {288 * MS_PER_MIN, MS_PER_MIN},
                {288 * MS_PER_MIN + 288, MS_PER_MIN + 1}, /* 288 cells */
                {366 * MS_PER_DAY, 366 * 5 * MS_PER_MIN},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(window_resolution_ms(rows[i].window_ms), rows[i].resolution_ms);
}

/* Queries that a ring answers share it, and all maxima and quantiles the 5-minute cells. */
TEST(layout) {
        static const struct metric_query queries[] = {
                {METRIC_MEM, METRIC_MAX, MS_PER_HOUR},
                {METRIC_MEM, METRIC_MAX, MS_PER_HOUR},
                {METRIC_CPU, METRIC_P90, 61 * MS_PER_MIN},
                {METRIC_CPU, METRIC_P50, 61 * MS_PER_MIN},
                {METRIC_CPU, METRIC_AVG, 100001},
        };
        static const struct window_ring rows[] = {
                {WINDOW_PEAKS, MS_PER_HOUR, MS_PER_MIN, MEM_BIT, 61, 61 * sizeof(float)},
                {WINDOW_CELLS, 5 * MS_PER_MIN, 12000, CPU_BIT | MEM_BIT, 26,
                 26 * (sizeof(uint32_t) + 2 * sizeof(struct window_cell))},
                {WINDOW_MEANS, 61 * MS_PER_MIN, MS_PER_MIN, CPU_BIT, 62, 62 * sizeof(float)},
                {WINDOW_CELLS, 100001, 4000, CPU_BIT, 27,
                 27 * (sizeof(uint32_t) + sizeof(struct window_cell))},
        };
        struct window_plan *plan = window_plan_new(queries, ARRAY_LEN(queries), 15 * MS_PER_S);
        size_t offset = sizeof(struct window_store) +
                        ARRAY_LEN(rows) * sizeof(struct window_ring_state);

        assert_int_equal(plan->channels, CPU_BIT | MEM_BIT);
        assert_int_equal(plan->means, 1);
        assert_int_equal(plan->ring_count, ARRAY_LEN(rows));
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct window_ring *ring = &plan->rings[i];
                assert_int_equal(ring->kind, rows[i].kind);
                assert_int_equal(ring->window_ms, rows[i].window_ms);
                assert_int_equal(ring->resolution_ms, rows[i].resolution_ms);
                assert_int_equal(ring->channels, rows[i].channels);
                assert_int_equal(ring->capacity, rows[i].capacity);
                assert_int_equal(ring->offset, offset);
                offset += rows[i].offset; /* here: its bytes */
        }
        assert_int_equal(plan->store_bytes, offset);
        window_plan_free(plan);
}

TEST(gaps) {
        static const struct {
                int64_t interval_ms, gauge_ms, counter_ms;
        } rows[] = {
                {1, 60000, 300000},      {15000, 60000, 300000},  {15001, 60004, 300000},
                {75000, 300000, 300000}, {75001, 300004, 300004},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct window_plan *plan = window_plan_new(NULL, 0, rows[i].interval_ms);
                assert_int_equal(plan->gauge_gap_ms, rows[i].gauge_ms);
                assert_int_equal(plan->counter_gap_ms, rows[i].counter_ms);
                window_plan_free(plan);
        }
}

TEST(find) {
        static const struct metric_query queries[] = {
                {METRIC_CPU, METRIC_AVG, MS_PER_HOUR},
                {METRIC_MEM, METRIC_AVG, 366 * MS_PER_DAY},
                {METRIC_CPU, METRIC_P99, MS_PER_HOUR},
        };
        static const struct {
                struct metric_query query;
                int ring; /* -1: none */
        } rows[] = {
                {{METRIC_CPU, METRIC_AVG, MS_PER_HOUR}, 0},
                {{METRIC_MEM, METRIC_AVG, MS_PER_HOUR}, -1},
                {{METRIC_CPU, METRIC_AVG, MS_PER_HOUR + 1}, -1},
                {{METRIC_CPU, METRIC_MAX, MS_PER_HOUR}, -1},
                {{METRIC_MEM, METRIC_AVG, 366 * MS_PER_DAY}, 1},
                {{METRIC_MEM, METRIC_AVG, 366 * MS_PER_DAY - 1}, -1},
                {{METRIC_MEM, METRIC_AVG, INT64_MAX}, 1}, /* the longest that is kept */
                {{METRIC_CPU, METRIC_P99, MS_PER_HOUR}, 2},
                {{METRIC_CPU, METRIC_P50, MS_PER_HOUR}, 2},
                {{METRIC_CPU, METRIC_AVG, WINDOW_MEAN_MS}, 3},
                {{METRIC_MEM, METRIC_AVG, WINDOW_MEAN_MS}, -1},
        };
        struct window_plan *plan = window_plan_new(queries, ARRAY_LEN(queries), 15 * MS_PER_S);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct window_ring *ring = window_plan_find(plan, &rows[i].query);
                assert_int_equal(ring ? (int)(ring - plan->rings) : -1, rows[i].ring);
        }
        window_plan_free(plan);
}
