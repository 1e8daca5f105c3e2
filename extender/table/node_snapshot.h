/*
 * The node table as workers see it: a copy of its columns, with the verdict on every row at the
 * time of publication. Shared by reference count; any thread may read and release it. Guarantee: it
 * is immutable while anyone other than the table has a reference.
 */
#pragma once

#include <stdatomic.h>
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

struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot);
void node_snapshot_unref(struct node_snapshot *snapshot);
