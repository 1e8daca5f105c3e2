/*
 * How node_table.c makes the snapshots that node_table.h shows. Private to the two.
 */
#pragma once

#include "extender/table/node_table.h"

/** table_policy_new() - with one reference; @policy is owned by it */
struct table_policy *table_policy_new(struct policy *policy, uint64_t generation,
                                      struct metrics *metrics);
void table_policy_unref(struct table_policy *rules);

/* The columns of the table itself, with room for `cap` rows. */
struct table_columns {
        size_t metric_count;
        double *usage_ratio[POLICY_MAX_SYNC];
        int64_t *expires_unix_ms[POLICY_MAX_SYNC];
        double *hot;
        int64_t *hot_expires_unix_ms;
        int8_t *rejected_by;
        uint8_t *score100;
        int64_t *settled_until_unix_ms;
};

/** table_columns_view() - the same for policy/verdict.h, as long as @columns lives */
struct reading_columns table_columns_view(const struct table_columns *columns);

/** snapshot_new() - copy @count rows; takes references of @rules and @names */
const struct node_snapshot *snapshot_new(struct table_policy *rules, struct node_names *names,
                                         const struct table_columns *columns, size_t count,
                                         int64_t now_unix_ms);
/** snapshot_ref() - one more holder */
const struct node_snapshot *snapshot_ref(const struct node_snapshot *snapshot);
