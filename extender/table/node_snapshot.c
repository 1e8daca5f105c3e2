#include "extender/table/node_snapshot.h"

#include "base/mem.h"

static struct node_snapshot *copy(const struct node_snapshot_source *source) {
        struct node_snapshot *snapshot = xmalloc(sizeof(*snapshot));

        *snapshot = (struct node_snapshot){
                .table_policy = table_policy_ref(source->table_policy),
                .estimator = source->estimator,
                .names = node_names_ref(source->names),
                .count = source->count,
                .refs = 1,
                .rows = node_columns_new(source->columns, source->count, source->count),
        };
        snapshot->columns = node_columns_view(&snapshot->rows);
        snapshot->rejected_by = snapshot->rows.rejected_by;
        snapshot->score100 = snapshot->rows.score100;
        snapshot->settled_until_unix_ms = snapshot->rows.settled_until_unix_ms;
        return snapshot;
}

/* What others read before they released it has been read: only the table could share it again. */
static bool can_renew(const struct node_snapshot *old, const struct node_snapshot_source *source) {
        return old && old->publication >= source->whole_in &&
               atomic_load_explicit(&old->refs, memory_order_acquire) == 1;
}

struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms) {
        struct node_snapshot *snapshot = old;

        /* A binding changes one row of thousands. */
        if (can_renew(old, source)) {
                node_columns_update(&snapshot->rows, source->columns, source->count,
                                    source->changed_in, snapshot->publication);
        } else {
                if (old)
                        node_snapshot_unref(old);
                snapshot = copy(source);
        }
        snapshot->all_settled_until_unix_ms = node_columns_settled_until_unix_ms(&snapshot->rows,
                                                                                 snapshot->count);
        snapshot->has_missing = snapshot->rows.has_estimate &&
                                node_columns_lack_any(&snapshot->rows, snapshot->count);
        snapshot->publication = source->publication;
        snapshot->built_unix_ms = now_unix_ms;
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
                .score100 =
                        snapshot->rows.has_estimate
                                ? node_columns_score100(
                                          &snapshot->rows,
                                          &snapshot->table_policy->terms[snapshot->rows.pool[row]],
                                          row)
                                : verdict_score100(policy, &snapshot->columns, row, NULL,
                                                   now_unix_ms),
        };
}
