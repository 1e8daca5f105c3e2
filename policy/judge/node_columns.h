/*
 * The columns of the node table: arrays with one element per row, in one block of memory. The table
 * has one growing set of columns; each snapshot has a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/node_estimate.h"
#include "policy/estimate/score_weights.h"
#include "policy/policy.h"
#include "policy/verdict.h"

enum { NODE_COLUMNS_MEDIAN_OF = 128 };

/* What the pages about nodes show, and no answer needs. */
struct node_facts {
        uint64_t malformed;                    /* one bit for each metric of the policy */
        struct pod_load capacity, allocatable; /* 0: unknown */
        /* With an estimate: what its pods request, and how much of it they are expected to use by
         * now, without the margin. */
        struct pod_load requested;
        double usage_ratio[ESTIMATE_RESOURCE_COUNT];
        int32_t pods;        /* -1: unknown */
        uint32_t pods_max;   /* that fit on the node; 0: unknown */
        uint8_t taint_level; /* the number of taints by spec.taints */
        /* No pod should move there: it has a taint of any effect. An autoscaler that is about to
         * remove a node may have tainted it with PreferNoSchedule. */
        bool is_avoided;
        bool is_known[ESTIMATE_RESOURCE_COUNT]; /* usage_ratio; see struct estimator_usage */
};

/** node_facts_allocatable() - what pods may request of a resource: without an allocatable, the
 * capacity. 0: unknown */
static inline double node_facts_allocatable(const struct node_facts *facts, int resource) {
        return facts->allocatable.of[resource] > 0 ? facts->allocatable.of[resource]
                                                   : facts->capacity.of[resource];
}

struct node_columns {
        size_t metric_count;
        bool has_estimate; /* scoring: estimate; otherwise its columns are NULL */

        struct reading_columns readings;
        struct verdict_limits *limits; /* verdict_filter() */
        uint8_t *score100;             /* as in struct node_verdict */
        int64_t *settled_until_unix_ms;
        uint8_t *zone; /* node_zones.h */
        struct node_facts *facts;

        /* For policy/estimate/score.h. */
        double *used[ESTIMATE_RESOURCE_COUNT], *own[ESTIMATE_RESOURCE_COUNT], *other;
        double *margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* the margin, which used[] includes;
                                                          unweighted */
        uint32_t *estimate_number;                     /* estimator_node_number() */
        uint8_t *is_estimate_old;                      /* some reading is expired or missing */
        uint8_t *missing;                              /* score_weights_missing() */

        void *block;
};

/** node_columns_new() - columns with the shape of @like for @cap rows; the first @count rows are
 * copied
 * @like: its columns may be NULL if @count is 0 */
struct node_columns node_columns_new(const struct node_columns *like, size_t count, size_t cap);
void node_columns_done(struct node_columns *columns);
/** node_columns_update() - copy the rows whose element of @changed_in is above @since
 * @from: of the same shape */
void node_columns_update(struct node_columns *columns, const struct node_columns *from,
                         size_t count, const uint64_t *changed_in, uint64_t since);
/** node_columns_move() - overwrite row @to with row @from */
void node_columns_move(struct node_columns *columns, size_t to, size_t from);
/** node_columns_settled_until_unix_ms() - the earliest time at which a verdict changes by itself;
 * INT64_MAX: never */
int64_t node_columns_settled_until_unix_ms(const struct node_columns *columns, size_t count);
/** node_columns_expired() - the number of expired readings */
size_t node_columns_expired(const struct node_columns *columns, size_t count, int64_t now_unix_ms);
/**
 * node_columns_median() - the median of @rows, to a thousandth, for score_weights_complete(). With
 * an even number of rows, the busier of the middle two is used. The first NODE_COLUMNS_MEDIAN_OF
 * with a value are enough, since a scheduler sends the nodes of all zones in turn
 * @weights: [pool]
 * @parts: one bit for each part whose median to set
 */
void node_columns_median(const struct node_columns *columns, const struct score_weights *weights,
                         const uint32_t *rows, size_t count, uint8_t parts,
                         struct estimate_median *ret);
/** node_columns_has_mean() - the row has a reading for the estimate, which may have expired
 * @metric: -1: no metric */
static inline bool node_columns_has_mean(const struct node_columns *columns, int metric,
                                         size_t row) {
        return metric >= 0 && columns->readings.expires_unix_ms[metric][row] != READING_NEVER &&
               columns->readings.usage_ratio[metric][row] <= NODE_ESTIMATE_RATIO_MAX;
}
/** node_columns_estimate() - the row as input of score_weights_headroom() */
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
int node_columns_score100(const struct node_columns *columns, const struct score_weights *weights,
                          size_t row);
