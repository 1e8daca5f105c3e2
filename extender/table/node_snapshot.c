#include "extender/table/node_snapshot.h"

#include <stdlib.h>

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
