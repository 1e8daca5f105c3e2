/*
 * What workers see of the node table: a copy of its columns with the verdict on every row as of
 * publication. Shared by reference count; any thread may read and release it. It is immutable as
 * long as anyone but the table has a reference.
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

/* What a publication is made from; borrowed from the table. */
struct node_snapshot_source {
        struct table_policy *table_policy;
        struct estimator *estimator;
        struct node_names *names;
        const struct node_columns *columns;
        size_t count;
        const uint64_t *changed_in; /* [row]: the publication that shows its last change */
        uint64_t whole_in;          /* the last publication with changes other than of rows */
        uint64_t publication;       /* its number */
};

/**
 * node_snapshot_next() - a copy of @source, with one reference; it takes references to its policy
 * and names
 * @old: an earlier snapshot, or NULL; the caller gives its reference away. If that was the last
 * one, and only rows have changed, the copy reuses @old and copies only those rows
 */
struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms);
struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot);
void node_snapshot_unref(struct node_snapshot *snapshot);
