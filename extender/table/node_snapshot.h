/*
 * What the workers see of the node table: a copy of its columns, immutable while anybody but the
 * table has a reference, with the verdict on every row as of publication. Shared by reference
 * count; any thread may read and release it.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_names.h"
#include "extender/table/table_policy.h"
#include "policy/judge/judge_nodes.h"

struct node_snapshot {
        struct table_policy *table_policy;
        struct estimator *estimator; /* borrowed from the table; NULL: no policy has needed it */
        struct node_names *names;    /* row by row */
        struct judge_nodes nodes;
        uint64_t publication; /* its number */
        atomic_size_t refs;
};

/* The table, borrowed, at a publication. */
struct node_snapshot_source {
        struct table_policy *table_policy;
        struct estimator *estimator;
        struct node_names *names;
        const struct node_columns *columns;
        size_t count;
        const uint64_t *changed_in; /* [row]: the publication that shows its last change */
        uint64_t whole_in;          /* the last one that shows more than changes of rows */
        uint64_t publication;       /* its number */
};

/**
 * node_snapshot_next() - a copy of @source, with one reference; takes references of its policy and
 * names
 * @old: an earlier one whose last reference is perhaps the caller's, who gives it away; may be
 * NULL. If it is, and lacks nothing but rows, the copy is made of it, by the rows that have changed
 */
struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms);
struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot);
void node_snapshot_unref(struct node_snapshot *snapshot);
