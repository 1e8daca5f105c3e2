#include "policy/judge/node_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { COLUMNS_MAX = 2 * POLICY_MAX_METRICS + 3 * ESTIMATE_RESOURCE_COUNT + 17 };

/* One of the pointers of struct node_columns. */
struct column {
        void **data;
        size_t width;
};

#define COLUMN(pointer) ((struct column){(void **)&(pointer), sizeof(*(pointer))})

/* Wide elements first, so that each column is aligned. Return: the number of columns */
static size_t list_columns(struct node_columns *columns, struct column ret[static COLUMNS_MAX]) {
        size_t n = 0;

        for (size_t i = 0; i < columns->metric_count; i++) {
                ret[n++] = COLUMN(columns->readings.usage_ratio[i]);
                ret[n++] = COLUMN(columns->readings.expires_unix_ms[i]);
        }
        ret[n++] = COLUMN(columns->readings.hot);
        ret[n++] = COLUMN(columns->readings.hot_expires_unix_ms);
        ret[n++] = COLUMN(columns->settled_until_unix_ms);
        ret[n++] = COLUMN(columns->facts);
        if (columns->has_estimate) {
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        ret[n++] = COLUMN(columns->used[r]);
                        ret[n++] = COLUMN(columns->own[r]);
                        ret[n++] = COLUMN(columns->margin_ratio[r]);
                }
                ret[n++] = COLUMN(columns->other);
                ret[n++] = COLUMN(columns->estimate_number);
        }
        ret[n++] = COLUMN(columns->limits);
        if (columns->has_estimate) {
                ret[n++] = COLUMN(columns->is_estimate_old);
                ret[n++] = COLUMN(columns->missing);
        }
        ret[n++] = COLUMN(columns->score100);
        ret[n++] = COLUMN(columns->zone);
        ret[n++] = COLUMN(columns->readings.pool);
        return n;
}

struct node_columns node_columns_new(const struct node_columns *like, size_t count, size_t cap) {
        struct node_columns columns = *like;
        struct column list[COLUMNS_MAX];
        size_t column_count = list_columns(&columns, list), row_bytes = 0;

        for (size_t i = 0; i < column_count; i++)
                row_bytes += list[i].width;
        columns.block = xreallocarray(NULL, cap + 1, row_bytes);
        char *at = columns.block;
        for (size_t i = 0; i < column_count; i++) {
                if (count > 0)
                        memcpy(at, *list[i].data, count * list[i].width);
                *list[i].data = at;
                at += cap * list[i].width;
        }
        return columns;
}

void node_columns_done(struct node_columns *columns) {
        free(columns->block);
        *columns = (struct node_columns){0};
}

void node_columns_move(struct node_columns *columns, size_t to, size_t from) {
        struct column list[COLUMNS_MAX];
        size_t column_count = list_columns(columns, list);

        for (size_t i = 0; i < column_count; i++) {
                char *data = *list[i].data;
                memcpy(data + to * list[i].width, data + from * list[i].width, list[i].width);
        }
}

void node_columns_update(struct node_columns *columns, const struct node_columns *from,
                         size_t count, const uint64_t *changed_in, uint64_t since) {
        struct node_columns source = *from;
        struct column to_list[COLUMNS_MAX], from_list[COLUMNS_MAX];
        size_t column_count = list_columns(columns, to_list);

        (void)list_columns(&source, from_list);
        for (size_t row = 0; row < count; row++)
                for (size_t i = 0; changed_in[row] > since && i < column_count; i++) {
                        size_t offset = row * to_list[i].width;
                        memcpy((char *)*to_list[i].data + offset,
                               (const char *)*from_list[i].data + offset, to_list[i].width);
                }
}

int64_t node_columns_settled_until_unix_ms(const struct node_columns *columns, size_t count) {
        int64_t until_unix_ms = INT64_MAX;

        for (size_t row = 0; row < count; row++)
                if (columns->settled_until_unix_ms[row] < until_unix_ms)
                        until_unix_ms = columns->settled_until_unix_ms[row];
        return until_unix_ms;
}

size_t node_columns_expired(const struct node_columns *columns, size_t count, int64_t now_unix_ms) {
        size_t expired = 0;

        for (size_t i = 0; i < columns->metric_count; i++)
                for (size_t row = 0; row < count; row++) {
                        int64_t expires_unix_ms = columns->readings.expires_unix_ms[i][row];
                        expired += expires_unix_ms != READING_NEVER &&
                                   expires_unix_ms <= now_unix_ms;
                }
        return expired;
}

static double part_weight(const struct score_weights *weights, int part) {
        return part == ESTIMATE_OTHER ? weights->has_other : weights->weight[part];
}

/* Counts instead of sorting, so no input makes it slow. */
static double median_of(const struct node_columns *columns, const struct score_weights *weights,
                        const uint32_t *rows, size_t count, int part) {
        enum { STEPS = 1000 };
        const double *column = part == ESTIMATE_OTHER ? columns->other : columns->used[part];
        uint32_t of_step[STEPS + 1] = {0};
        size_t known = 0, step = 0;

        for (size_t i = 0; i < count && known < NODE_COLUMNS_MEDIAN_OF; i++) {
                uint32_t row = rows[i];
                double weight = part_weight(&weights[columns->readings.pool[row]], part);
                if (weight <= 0 || columns->missing[row] >> part & 1)
                        continue;
                double ratio = column[row] / weight;
                of_step[ratio < 1 ? (size_t)(ratio * STEPS + 0.5) : STEPS]++;
                known++;
        }
        for (size_t below = known / 2; known > 0 && of_step[step] <= below; step++)
                below -= of_step[step];
        return (double)step / STEPS;
}

void node_columns_median(const struct node_columns *columns, const struct score_weights *weights,
                         const uint32_t *rows, size_t count, uint8_t parts,
                         struct estimate_median *ret) {
        for (int part = 0; part < ESTIMATE_PART_COUNT; part++)
                if (parts >> part & 1)
                        ret->ratio[part] = median_of(columns, weights, rows, count, part);
}

int node_columns_score100(const struct node_columns *columns, const struct score_weights *weights,
                          size_t row) {
        const struct score_node node = node_columns_estimate(columns, row);
        double headroom = score_weights_headroom(weights, &node, &(struct pod_load){0});

        return headroom > 0 ? (int)headroom : 0;
}
