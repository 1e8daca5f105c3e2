/*
 * The node table as workers see it: a copy of its columns, with the verdict on every row at the
 * time of publication. Shared by reference count; any thread may read and release it. Guarantee: it
 * is immutable while anyone other than the table has a reference.
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
        struct estimator *estimator; /* borrowed from the table */
        struct node_names *names;    /* [row] */
        struct judge_nodes nodes;
        uint64_t publication; /* its number */
        atomic_size_t refs;
};

/* The input of a publication; borrowed from the table. */
struct node_snapshot_source {
        struct table_policy *table_policy;
        struct estimator *estimator;
        struct node_names *names;
        const struct node_columns *columns;
        size_t count;
        const uint64_t *changed_in; /* [row]: the publication with its last change */
        uint64_t whole_in;          /* the last publication that changed more than rows */
        uint64_t publication;       /* its number */
};

/**
 * node_snapshot_next() - a copy of @source, with one reference; it takes references to policy and
 * names
 * @old: an earlier snapshot, or NULL; its reference is consumed. If that was the last reference,
 * and only rows have changed, the copy reuses @old and copies only those rows
 */
struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms);
struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot);
void node_snapshot_unref(struct node_snapshot *snapshot);
