/* What is computed of columns as they are, without a table that fills them. */
#include "tests/unit/fixture/test.h"

#include <string.h>

#include "policy/judge/node_columns.h"

enum { ROWS = 3, METRICS = 2 };

static struct node_columns columns_of(bool has_estimate) {
        struct node_columns none = {.metric_count = METRICS, .has_estimate = has_estimate};

        return node_columns_new(&none, 0, ROWS);
}

TEST(settled_until_the_first_changes) {
        struct node_columns columns = columns_of(false);
        static const int64_t until_unix_ms[] = {700, 500, 600};

        memcpy(columns.settled_until_unix_ms, until_unix_ms, sizeof(until_unix_ms));
        assert_int_equal(node_columns_settled_until_unix_ms(&columns, 3), 500);
        assert_int_equal(node_columns_settled_until_unix_ms(&columns, 1), 700);
        assert_int_equal(node_columns_settled_until_unix_ms(&columns, 0), INT64_MAX);
        node_columns_done(&columns);
        assert_null(columns.block);
}

/* Of every metric and row; a reading that was never there has not expired. */
TEST(expired) {
        _cleanup_(node_columns_done) struct node_columns columns = columns_of(false);
        static const int64_t expires_unix_ms[METRICS][ROWS] = {{100, READING_NEVER, 101},
                                                               {99, 100, 300}};

        for (int i = 0; i < METRICS; i++)
                memcpy(columns.readings.expires_unix_ms[i], expires_unix_ms[i],
                       sizeof(expires_unix_ms[i]));
        assert_int_equal(node_columns_expired(&columns, ROWS, 98), 0);
        assert_int_equal(node_columns_expired(&columns, ROWS, 100), 3);
        assert_int_equal(node_columns_expired(&columns, 1, 100), 2);
        assert_int_equal(node_columns_expired(&columns, ROWS, 1000), 5);
}

static void fill(struct node_columns *columns, size_t row, int value) {
        for (int i = 0; i < METRICS; i++) {
                columns->readings.usage_ratio[i][row] = value;
                columns->readings.expires_unix_ms[i][row] = value;
        }
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                columns->used[r][row] = columns->own[r][row] = value;
        columns->readings.hot[row] = columns->other[row] = value;
        columns->readings.hot_expires_unix_ms[row] = columns->settled_until_unix_ms[row] = value;
        columns->estimate_number[row] = (uint32_t)value;
        columns->limits[row] = (struct verdict_limits){(int16_t)value, (int16_t)-value};
        columns->is_estimate_old[row] = columns->missing[row] = columns->score100[row] =
                columns->zone[row] = columns->readings.pool[row] = (uint8_t)value;
}

static void check(const struct node_columns *columns, size_t row, int value) {
        for (int i = 0; i < METRICS; i++) {
                assert_true(columns->readings.usage_ratio[i][row] == value);
                assert_int_equal(columns->readings.expires_unix_ms[i][row], value);
        }
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                assert_true(columns->used[r][row] == value && columns->own[r][row] == value);
        assert_true(columns->readings.hot[row] == value && columns->other[row] == value);
        assert_int_equal(columns->readings.hot_expires_unix_ms[row], value);
        assert_int_equal(columns->settled_until_unix_ms[row], value);
        assert_int_equal(columns->estimate_number[row], value);
        assert_int_equal(columns->limits[row].rejected_by, value);
        assert_int_equal(columns->limits[row].last_by, -value);
        assert_int_equal(columns->is_estimate_old[row], value);
        assert_int_equal(columns->missing[row], value);
        assert_int_equal(columns->score100[row], value);
        assert_int_equal(columns->zone[row], value);
        assert_int_equal(columns->readings.pool[row], value);
}

/* Every column of a row, and none of its neighbours. */
TEST(rows_are_moved_and_taken_over_whole) {
        _cleanup_(node_columns_done) struct node_columns columns = columns_of(true);
        static const uint64_t changed_in[ROWS] = {4, 5, 6};

        for (size_t row = 0; row < ROWS; row++)
                fill(&columns, row, 10 + (int)row);
        _cleanup_(node_columns_done) struct node_columns copy = node_columns_new(&columns, ROWS,
                                                                                 ROWS);
        node_columns_move(&columns, 0, 2);
        check(&columns, 0, 12);
        check(&columns, 1, 11);
        check(&columns, 2, 12);

        for (size_t row = 0; row < ROWS; row++) {
                check(&copy, row, 10 + (int)row);
                fill(&columns, row, 20 + (int)row);
        }
        node_columns_update(&copy, &columns, ROWS, changed_in, 4);
        check(&copy, 0, 10);
        check(&copy, 1, 21);
        check(&copy, 2, 22);
}

/* In thousandths; of two in the middle the busier one, and what is above 1 counts as 1. */
TEST(median) {
        static const struct {
                double used[ROWS];
                size_t count;
                uint8_t missing; /* of row 0 */
                double median;
        } rows[] = {
                {{0.2, 0.4, 0.1}, 3, 0, 0.2},
                {{0.2, 0.4, 0}, 2, 0, 0.4},
                {{0.2, 0.4, 0.5}, 3, 1 << ESTIMATE_CPU, 0.5},
                {{0.2, 0, 0}, 1, 1 << ESTIMATE_CPU, 0},
                {{1, 1.5, 0.999}, 3, 0, 1},
                {{0.1004, 0, 0}, 1, 0, 0.1},
                {{0.1005, 0, 0}, 1, 0, 0.101},
                {{0, 0, 0}, 0, 0, 0},
        };
        static const struct score_weights weights = {.weight = {0.5, 0}};
        static const uint32_t all[] = {0, 1, 2};
        _cleanup_(node_columns_done) struct node_columns columns = columns_of(true);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct estimate_median median;
                for (size_t row = 0; row < ROWS; row++) {
                        fill(&columns, row, 0);
                        columns.used[ESTIMATE_CPU][row] = rows[i].used[row] * weights.weight[0];
                        columns.used[ESTIMATE_MEM][row] = 0.7; /* which has no weight */
                }
                columns.missing[0] = rows[i].missing;
                median.ratio[ESTIMATE_OTHER] = 7; /* not asked for */
                node_columns_median(&columns, &weights, all, rows[i].count,
                                    1 << ESTIMATE_CPU | 1 << ESTIMATE_MEM, &median);
                if (median.ratio[ESTIMATE_CPU] != rows[i].median)
                        fail_msg("row %zu gave %g", i, median.ratio[ESTIMATE_CPU]);
                assert_true(median.ratio[ESTIMATE_MEM] == 0);
                assert_true(median.ratio[ESTIMATE_OTHER] == 7);
        }
}

TEST(score_is_the_headroom) {
        static const struct score_weights weights = {.weight = {1, 1}};
        static const struct {
                double used;
                int score100;
        } rows[] = {{0, 100}, {0.25, 75}, {0.984375, 1}, {1, 0}, {1.5, 0}};
        _cleanup_(node_columns_done) struct node_columns columns = columns_of(true);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                fill(&columns, 0, 0);
                columns.used[ESTIMATE_CPU][0] = rows[i].used;
                assert_int_equal(node_columns_score100(&columns, &weights, 0), rows[i].score100);
        }
}
