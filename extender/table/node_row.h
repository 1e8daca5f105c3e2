/*
 * One node of the table, and how it fills its row of the columns. Annotations and labels are kept
 * as text, since another policy may need other ones.
 */
#pragma once

#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "extender/table/node_table.h"
#include "extender/table/table_policy.h"
#include "policy/binding_ring.h"
#include "policy/judge/node_columns.h"
#include "policy/kept_texts.h"

struct node_row {
        char *name;
        uint32_t row;
        struct estimator_node *estimate; /* NULL: no estimator, or no room in it */
        struct node_facts facts;         /* as far as they do not depend on policy and estimate */
        char *closed_by;                 /* node_closed_by() */
        uint8_t zone;                    /* node_zones_move() */
        uint8_t pool;                    /* policy_pool_of() */
        struct kept_texts annotations, labels;
        struct binding_ring bound; /* recent bindings */
        struct reading hot;        /* the annotation node_hot_value */
        /* The number of the policy's metrics by state, as node_row_parse() has found them. */
        uint32_t readings[READING_STATE_COUNT], skewed;
};

/* The common input of all rows. */
struct row_context {
        struct node_table_options options;
        struct table_policy *table_policy;
        struct estimator *estimator; /* NULL: there is options.like */
        /* The end of the watch of bindings; INT64_MIN: it was never live; INT64_MAX: it is live */
        int64_t bindings_live_until_unix_ms;
        struct node_columns columns;
};

/** node_row_new() - @name is copied */
struct node_row *node_row_new(const char *name, size_t len);
/** node_row_free() - the caller has already released zone and estimate */
void node_row_free(struct node_row *node);

/** node_row_parse() - fill the row of the node */
void node_row_parse(struct node_row *node, struct row_context *context, int64_t now_unix_ms);
/** node_row_settle() - update what depends on time, bindings and the estimate in the row */
void node_row_settle(struct node_row *node, struct row_context *context, int64_t now_unix_ms);
