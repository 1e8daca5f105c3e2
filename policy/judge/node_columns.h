/*
 * The columns of the node table: arrays with one element per row, in one block of memory. The table
 * has one set of them, which grows; each snapshot has a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/estimate_terms.h"
#include "policy/policy.h"
#include "policy/verdict.h"

struct node_columns {
        size_t metric_count;
        bool has_estimate; /* the policy's scoring is estimate; otherwise those columns are NULL */

        double *usage_ratio[POLICY_MAX_METRICS];
        int64_t *expires_unix_ms[POLICY_MAX_METRICS];
        double *hot;
        int64_t *hot_expires_unix_ms;
        int16_t *rejected_by; /* of verdict_filter() */
        uint8_t *score100;    /* as in struct node_verdict */
        int64_t *settled_until_unix_ms;
        uint8_t *zone; /* of node_zones.h */
        uint8_t *pool; /* of policy_pool_of() */

        /* For policy/estimate/score.h. */
        double *used[ESTIMATE_RESOURCE_COUNT], *own[ESTIMATE_RESOURCE_COUNT], *other;
        double *margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* what used[] has of it, without weight */
        uint32_t *estimate_number;                     /* of estimator_node_number() */
        uint8_t *is_estimate_old;                      /* from a reading that has expired */
        uint8_t *missing; /* parts of the maximum that are not known, a bit each */

        void *block;
};

/** node_columns_new() - @metric_count and @has_estimate of @like, for @cap rows, the first @count
 * copied from it
 * @like: its columns may be NULL when @count is 0 */
struct node_columns node_columns_new(const struct node_columns *like, size_t count, size_t cap);
void node_columns_done(struct node_columns *columns);
/** node_columns_update() - take over from @from, of the same shape, the rows whose element of
 * @changed_in is above @since */
void node_columns_update(struct node_columns *columns, const struct node_columns *from,
                         size_t count, const uint64_t *changed_in, uint64_t since);
/** node_columns_move() - row @from takes the place of row @to */
void node_columns_move(struct node_columns *columns, size_t to, size_t from);
/** node_columns_settled_until_unix_ms() - when the first of the rows can change by itself;
 * INT64_MAX: none can */
int64_t node_columns_settled_until_unix_ms(const struct node_columns *columns, size_t count);
/** node_columns_expired() - readings of the rows that were there and have expired */
size_t node_columns_expired(const struct node_columns *columns, size_t count, int64_t now_unix_ms);
/** node_columns_lack_any() - whether something is missing of any row */
bool node_columns_lack_any(const struct node_columns *columns, size_t count);
/**
 * node_columns_median() - of @rows, to a thousandth, for estimate_terms_complete(); of the two in
 * the middle the busier one
 * @terms: by pool
 */
void node_columns_median(const struct node_columns *columns, const struct estimate_terms *terms,
                         const uint32_t *rows, size_t count, struct estimate_median *ret);
/** node_columns_estimate() - of a row, for estimate_terms_headroom() */
static inline struct score_node node_columns_estimate(const struct node_columns *columns,
                                                      size_t row) {
        struct score_node node = {.other = columns->other[row]};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                node.used[r] = columns->used[r][row];
                node.own[r] = columns->own[r][row];
        }
        return node;
}
/** node_columns_score100() - the headroom of a row before any pod is added, 0 to 100 */
int node_columns_score100(const struct node_columns *columns, const struct estimate_terms *terms,
                          size_t row);
/** node_columns_view() - the readings for policy/verdict.h, as long as @columns stays in place */
struct reading_columns node_columns_view(const struct node_columns *columns);
