/*
 * One node of the table: what is kept of it, and how that becomes its row of the columns.
 * Annotations are kept as text, so that another policy can read others of them.
 */
#pragma once

#include <stdint.h>

#include "base/zone.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "extender/table/node_hot.h"
#include "extender/table/table_policy.h"
#include "policy/judge/node_columns.h"
#include "policy/kept_annotations.h"

struct node_row {
        char *name;
        uint32_t generation;             /* the last list that had it */
        uint32_t row;                    /* NODE_ROW_NONE: a stranger, known only from bindings */
        struct estimator_node *estimate; /* of a row, once there is an estimator; may be NULL */
        uint8_t zone;                    /* of a row: node_zones_move() */
        uint8_t pool;                    /* of a row: policy_pool_of() */
        struct kept_annotations annotations;
        struct node_hot hot;
        /* The policy's metrics, as node_row_parse() has found them. */
        uint32_t readings[READING_STATE_COUNT], skewed;
};

/* What all rows are made with. */
struct row_context {
        const struct zone *zone; /* the time zone of annotations; NULL: UTC */
        bool is_percent;         /* annotations carry percent instead of ratios */
        struct table_policy *table_policy;
        struct estimator *estimator;         /* NULL until a policy needs it */
        int64_t bindings_live_until_unix_ms; /* see node_hot_settle() */
        struct node_columns columns;
};

/** node_row_new() - a stranger; @name is copied */
struct node_row *node_row_new(const char *name, size_t len);
/** node_row_free() - the caller has released its zone and its estimate */
void node_row_free(struct node_row *node);

/** node_row_reading() - a metric of the policy; whether it has expired is for the caller */
void node_row_reading(const struct node_row *node, const struct row_context *context, size_t metric,
                      struct reading *ret);
/** node_row_hot_reading() - the annotation node_hot_value */
void node_row_hot_reading(const struct node_row *node, const struct row_context *context,
                          struct reading *ret);

/** node_row_parse() - fill its row of the columns from what is kept of it */
void node_row_parse(struct node_row *node, struct row_context *context, int64_t now_unix_ms);
/** node_row_settle() - the same for what changes by time, bindings, and the estimate */
void node_row_settle(struct node_row *node, struct row_context *context, int64_t now_unix_ms);
