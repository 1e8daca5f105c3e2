#include "extender/table/node_snapshot.h"

#include "base/mem.h"

struct node_snapshot *node_snapshot_new(struct table_policy *table_policy,
                                        struct estimator *estimator, struct node_names *names,
                                        const struct node_columns *columns, size_t count,
                                        int64_t now_unix_ms) {
        struct node_snapshot *snapshot = xmalloc(sizeof(*snapshot));

        *snapshot = (struct node_snapshot){
                .table_policy = table_policy_ref(table_policy),
                .estimator = estimator,
                .names = node_names_ref(names),
                .count = count,
                .all_settled_until_unix_ms = INT64_MAX,
                .built_unix_ms = now_unix_ms,
                .refs = 1,
                .rows = node_columns_new(columns, count, count),
        };
        snapshot->columns = node_columns_view(&snapshot->rows);
        snapshot->rejected_by = snapshot->rows.rejected_by;
        snapshot->score100 = snapshot->rows.score100;
        snapshot->settled_until_unix_ms = snapshot->rows.settled_until_unix_ms;
        for (size_t i = 0; i < count; i++)
                if (snapshot->settled_until_unix_ms[i] < snapshot->all_settled_until_unix_ms)
                        snapshot->all_settled_until_unix_ms = snapshot->settled_until_unix_ms[i];
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
        node_columns_done(&snapshot->rows);
        free(snapshot);
}

struct node_verdict node_snapshot_verdict_slow(const struct node_snapshot *snapshot, size_t row,
                                               int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;

        return (struct node_verdict){
                .rejected_by = verdict_filter(policy, &snapshot->columns, row, now_unix_ms),
                .score100 = snapshot->rows.has_estimate
                                    ? node_columns_score100(&snapshot->rows, row)
                                    : verdict_score100(policy, &snapshot->columns, row, NULL,
                                                       now_unix_ms),
        };
}
