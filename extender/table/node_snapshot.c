#include "extender/table/node_snapshot.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct reading_columns node_columns_view(const struct node_columns *columns) {
        return (struct reading_columns){
                .usage_ratio = (const double *const *)columns->usage_ratio,
                .expires_unix_ms = (const int64_t *const *)columns->expires_unix_ms,
                .hot = columns->hot,
                .hot_expires_unix_ms = columns->hot_expires_unix_ms,
        };
}

static void *copy_column(char **at, const void *column, size_t bytes) {
        void *copy = *at;

        if (bytes > 0)
                memcpy(copy, column, bytes);
        *at += bytes;
        return copy;
}

struct node_snapshot *node_snapshot_new(struct table_policy *table_policy, struct node_names *names,
                                        const struct node_columns *columns, size_t count,
                                        int64_t now_unix_ms) {
        enum { WIDE = sizeof(int64_t), NARROW = 2 * sizeof(int8_t) };
        size_t wide_columns = columns->metric_count * 2 + 3;
        struct node_snapshot *snapshot = xmalloc(sizeof(*snapshot) +
                                                 count * (wide_columns * WIDE + NARROW));
        char *at = (char *)snapshot->block;

        static_assert(sizeof(double) == WIDE, "columns are carved from one block");
        *snapshot = (struct node_snapshot){
                .table_policy = table_policy_ref(table_policy),
                .names = node_names_ref(names),
                .count = count,
                .all_settled_until_unix_ms = INT64_MAX,
                .built_unix_ms = now_unix_ms,
                .refs = 1,
        };
        for (size_t i = 0; i < columns->metric_count; i++) {
                snapshot->usage_ratio[i] = copy_column(&at, columns->usage_ratio[i], count * WIDE);
                snapshot->expires_unix_ms[i] = copy_column(&at, columns->expires_unix_ms[i],
                                                           count * WIDE);
        }
        snapshot->columns.usage_ratio = snapshot->usage_ratio;
        snapshot->columns.expires_unix_ms = snapshot->expires_unix_ms;
        snapshot->columns.hot = copy_column(&at, columns->hot, count * WIDE);
        snapshot->columns.hot_expires_unix_ms = copy_column(&at, columns->hot_expires_unix_ms,
                                                            count * WIDE);
        snapshot->settled_until_unix_ms = copy_column(&at, columns->settled_until_unix_ms,
                                                      count * WIDE);
        for (size_t i = 0; i < count; i++)
                if (snapshot->settled_until_unix_ms[i] < snapshot->all_settled_until_unix_ms)
                        snapshot->all_settled_until_unix_ms = snapshot->settled_until_unix_ms[i];
        snapshot->rejected_by = copy_column(&at, columns->rejected_by, count);
        snapshot->score100 = copy_column(&at, columns->score100, count);
        return snapshot;
}

struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot) {
        (void)atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
        return snapshot;
}

void node_snapshot_unref(struct node_snapshot *snapshot) {
        if (atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) > 1)
                return;
        table_policy_unref(snapshot->table_policy);
        node_names_unref(snapshot->names);
        free(snapshot);
}

struct node_verdict node_snapshot_verdict_slow(const struct node_snapshot *snapshot, size_t row,
                                               int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;

        return (struct node_verdict){
                .rejected_by = verdict_filter(policy, &snapshot->columns, row, now_unix_ms),
                .score100 = verdict_score100(policy, &snapshot->columns, row, NULL, now_unix_ms),
        };
}
