#include "extender/table/node_snapshot.h"

#include "base/mem.h"

static struct node_snapshot *snapshot_copy(const struct node_snapshot_source *source) {
        struct node_snapshot *snapshot = xmalloc(sizeof(*snapshot));

        *snapshot = (struct node_snapshot){
                .table_policy = table_policy_ref(source->table_policy),
                .estimator = source->estimator,
                .names = node_names_ref(source->names),
                .refs = 1,
                .nodes =
                        {
                                .policy = source->table_policy->policy,
                                .weights = source->table_policy->weights,
                                .has_target = source->table_policy->has_target,
                                .count = source->count,
                                .columns = node_columns_new(source->columns, source->count,
                                                            source->count),
                        },
        };
        snapshot->nodes.readings = node_columns_view(&snapshot->nodes.columns);
        return snapshot;
}

/* With one reference, all workers have released @old, and only the table gives out new ones. */
static bool can_renew(const struct node_snapshot *old, const struct node_snapshot_source *source) {
        return old && old->publication >= source->whole_in &&
               atomic_load_explicit(&old->refs, memory_order_acquire) == 1;
}

struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms) {
        struct node_snapshot *snapshot = old;

        /* Usually, a binding has changed one of thousands of rows. */
        if (can_renew(old, source)) {
                node_columns_update(&snapshot->nodes.columns, source->columns, source->count,
                                    source->changed_in, snapshot->publication);
        } else {
                if (old)
                        node_snapshot_unref(old);
                snapshot = snapshot_copy(source);
        }
        struct judge_nodes *nodes = &snapshot->nodes;
        nodes->all_settled_until_unix_ms = node_columns_settled_until_unix_ms(&nodes->columns,
                                                                              nodes->count);
        nodes->built_unix_ms = now_unix_ms;
        snapshot->publication = source->publication;
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
        node_columns_done(&snapshot->nodes.columns);
        free(snapshot);
}
