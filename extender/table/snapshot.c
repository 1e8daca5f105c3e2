#include "extender/table/snapshot.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/mem.h"

struct shared_policy {
        struct table_policy public; /* first: the pointer handed out is the whole */
        struct policy *owned;
        atomic_size_t refs;
};

struct shared_snapshot {
        struct node_snapshot public; /* first, as above */
        struct table_policy *rules;
        struct node_names *names;
        atomic_size_t refs;
        const double *usage_ratio[POLICY_MAX_SYNC];
        const int64_t *expires_unix_ms[POLICY_MAX_SYNC];
        int64_t columns[]; /* all of them, the widest elements first */
};

struct table_policy *table_policy_new(struct policy *policy, uint64_t generation,
                                      struct metrics *metrics) {
        struct shared_policy *shared = xcalloc(1, sizeof(*shared));

        shared->owned = policy;
        shared->refs = 1;
        shared->public.policy = policy;
        shared->public.generation = generation;
        for (size_t i = 0; i < policy->predicate_count; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                struct buf json = BUF_INIT(sizeof(predicate->reason) * 6 + 2);
                (void)buf_json_string(&json, predicate->reason, strlen(predicate->reason));
                shared->public.reason_json[i] = buf_take(&json);
                if (metrics)
                        shared->public.rejected[i] = metrics_counter(
                                metrics, NODE_TABLE_VERDICTS_NAME, NODE_TABLE_VERDICTS_HELP,
                                LABELS("predicate", policy->sync[predicate->metric].name));
        }
        return &shared->public;
}

static struct table_policy *table_policy_ref(struct table_policy *rules) {
        struct shared_policy *shared = (struct shared_policy *)(void *)rules;

        (void)atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
        return rules;
}

void table_policy_unref(struct table_policy *rules) {
        struct shared_policy *shared = (struct shared_policy *)(void *)rules;

        if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) > 1)
                return;
        for (size_t i = 0; i < shared->owned->predicate_count; i++)
                free(shared->public.reason_json[i]);
        policy_free(shared->owned);
        free(shared);
}

struct reading_columns table_columns_view(const struct table_columns *columns) {
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

const struct node_snapshot *snapshot_new(struct table_policy *rules, struct node_names *names,
                                         const struct table_columns *columns, size_t count,
                                         int64_t now_unix_ms) {
        enum { WIDE = sizeof(int64_t), NARROW = 2 * sizeof(int8_t) };
        size_t wide_columns = columns->metric_count * 2 + 3;
        struct shared_snapshot *shared = xmalloc(sizeof(*shared) +
                                                 count * (wide_columns * WIDE + NARROW));
        char *at = (char *)shared->columns;

        static_assert(sizeof(double) == WIDE, "columns are carved from one block");
        *shared = (struct shared_snapshot){
                .rules = table_policy_ref(rules),
                .names = node_names_ref(names),
                .refs = 1,
        };
        for (size_t i = 0; i < columns->metric_count; i++) {
                shared->usage_ratio[i] = copy_column(&at, columns->usage_ratio[i], count * WIDE);
                shared->expires_unix_ms[i] = copy_column(&at, columns->expires_unix_ms[i],
                                                         count * WIDE);
        }
        const double *hot = copy_column(&at, columns->hot, count * WIDE);
        const int64_t *hot_expires = copy_column(&at, columns->hot_expires_unix_ms, count * WIDE);
        const int64_t *settled = copy_column(&at, columns->settled_until_unix_ms, count * WIDE);
        int64_t all_settled = INT64_MAX;
        for (size_t i = 0; i < count; i++)
                if (settled[i] < all_settled)
                        all_settled = settled[i];
        shared->public = (struct node_snapshot){
                .rules = rules,
                .names = names,
                .count = count,
                .columns =
                        {
                                .usage_ratio = shared->usage_ratio,
                                .expires_unix_ms = shared->expires_unix_ms,
                                .hot = hot,
                                .hot_expires_unix_ms = hot_expires,
                        },
                .settled_until_unix_ms = settled,
                .rejected_by = copy_column(&at, columns->rejected_by, count),
                .score100 = copy_column(&at, columns->score100, count),
                .all_settled_until_unix_ms = all_settled,
                .built_unix_ms = now_unix_ms,
        };
        return &shared->public;
}

static struct shared_snapshot *whole(const struct node_snapshot *snapshot) {
        return (struct shared_snapshot *)(uintptr_t)snapshot;
}

const struct node_snapshot *snapshot_ref(const struct node_snapshot *snapshot) {
        (void)atomic_fetch_add_explicit(&whole(snapshot)->refs, 1, memory_order_relaxed);
        return snapshot;
}

void node_snapshot_release(const struct node_snapshot *snapshot) {
        struct shared_snapshot *shared = whole(snapshot);

        if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) > 1)
                return;
        table_policy_unref(shared->rules);
        node_names_unref(shared->names);
        free(shared);
}

struct node_verdict node_snapshot_verdict_slow(const struct node_snapshot *snapshot, size_t row,
                                               int64_t now_unix_ms) {
        const struct policy *policy = snapshot->rules->policy;

        return (struct node_verdict){
                .rejected_by = verdict_filter(policy, &snapshot->columns, row, now_unix_ms),
                .score100 = verdict_score100(policy, &snapshot->columns, row, NULL, now_unix_ms),
        };
}
