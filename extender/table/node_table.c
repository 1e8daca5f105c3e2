#include "extender/table/node_table.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "extender/table/node_row.h"
#include "extender/table/node_zones.h"
#include "policy/hot_value.h"
#include "policy/node_closed.h"
#include "policy/node_taints.h"

struct node_table {
        struct row_context context;
        struct strmap nodes_by_name; /* struct node_row */

        /* Rows have no gaps: the last row moves into a removed one. */
        struct node_row **rows;
        size_t count, cap;
        struct node_zones zones;
        uint64_t *changed_in; /* [row]: the publication with its last change */
        uint64_t whole_in;    /* the last publication that changed more than rows */

        struct node_names *names;        /* in the last publication; outdated if is_dirty */
        bool has_changed_rows, is_dirty; /* is_dirty: more than rows have changed */
        int64_t published_unix_ms;
        uint64_t publications;

        pthread_mutex_t current_lock; /* guards only the next line */
        struct node_snapshot *current;
        struct node_snapshot *last; /* the previous one, whose memory is reused; may be NULL */
};

/* ---- Rows. */

static void row_has_changed(struct node_table *table, size_t row) {
        table->changed_in[row] = table->publications + 1;
        table->has_changed_rows = true;
}

static void settle_row(struct node_table *table, size_t row, int64_t now_unix_ms) {
        node_row_settle(table->rows[row], &table->context, now_unix_ms);
        row_has_changed(table, row);
}

static void settle_all(struct node_table *table, int64_t now_unix_ms) {
        for (size_t row = 0; row < table->count; row++)
                settle_row(table, row, now_unix_ms);
}

static void parse_row(struct node_table *table, size_t row, int64_t now_unix_ms) {
        node_row_parse(table->rows[row], &table->context, now_unix_ms);
        row_has_changed(table, row);
}

/* The row is computed at the next publication, once for all changes. */
static void on_estimate_changed(void *userdata, void *owner) {
        const struct node_row *node = owner;
        struct node_table *table = userdata;

        if (!table->context.columns.has_estimate) /* a policy that has left it */
                return;
        table->context.columns.settled_until_unix_ms[node->row] = INT64_MIN;
        table->has_changed_rows = true;
}

/* ---- The set of nodes. */

/* @like: the shape of the columns; its first @count rows are kept */
static void resize_columns(struct node_table *table, const struct node_columns *like, size_t count,
                           size_t cap) {
        struct node_columns columns = node_columns_new(like, count, cap);

        node_columns_done(&table->context.columns);
        table->context.columns = columns;
        table->rows = xreallocarray(table->rows, cap, sizeof(*table->rows));
        table->changed_in = xreallocarray(table->changed_in, cap, sizeof(*table->changed_in));
        table->cap = cap;
}

static void move_row(struct node_table *table, size_t to, size_t from) {
        node_columns_move(&table->context.columns, to, from);
        table->rows[to] = table->rows[from];
        table->rows[to]->row = (uint32_t)to;
}

static void forget_node(struct node_table *table, struct node_row *node) {
        (void)strmap_remove(&table->nodes_by_name, node->name, strlen(node->name));
        (void)node_zones_move(&table->zones, node->zone, NULL, NULL);
        if (node->estimate)
                estimator_node_release(table->context.estimator, node->estimate);
        table->count--;
        if (node->row != table->count)
                move_row(table, node->row, table->count);
        table->is_dirty = true;
        node_row_free(node);
}

static struct node_row *add_node(struct node_table *table, const char *name, size_t len) {
        struct node_row *node = node_row_new(name, len);

        (void)strmap_put(&table->nodes_by_name, name, len, node);
        if (table->count == table->cap)
                resize_columns(table, &table->context.columns, table->count, table->cap * 2);
        node->row = (uint32_t)table->count;
        if (table->context.estimator)
                node->estimate = estimator_node_hold(table->context.estimator, name, len, node);
        table->rows[table->count++] = node;
        table->is_dirty = true;
        return node;
}

/* ---- Publishing. */

static struct node_snapshot *copy_table(const struct node_table *table) {
        const struct row_context *context = &table->context;
        struct node_snapshot *snapshot = xmalloc(sizeof(*snapshot));

        *snapshot = (struct node_snapshot){
                .table_policy = table_policy_ref(context->table_policy),
                .estimator = context->options.like ? context->options.like->estimator
                                                   : context->estimator,
                .names = node_names_ref(table->names),
                .refs = 1,
                .nodes =
                        {
                                .policy = context->table_policy->policy,
                                .weights = context->table_policy->weights,
                                .has_target = context->table_policy->has_target,
                                .count = table->count,
                                .columns = node_columns_new(&context->columns, table->count,
                                                            table->count),
                        },
        };
        return snapshot;
}

/* With one reference, all workers have released @old, and only the table gives out new ones. */
static bool can_renew(const struct node_table *table, const struct node_snapshot *old) {
        return old && old->publication >= table->whole_in &&
               atomic_load_explicit(&old->refs, memory_order_acquire) == 1;
}

/* The previous snapshot, which workers have usually released, becomes the next one. */
static struct node_snapshot *next_snapshot(struct node_table *table, int64_t now_unix_ms) {
        struct node_snapshot *snapshot = table->last;

        /* Usually, a binding has changed one of thousands of rows. */
        if (can_renew(table, snapshot)) {
                node_columns_update(&snapshot->nodes.columns, &table->context.columns, table->count,
                                    table->changed_in, snapshot->publication);
        } else {
                if (snapshot)
                        node_snapshot_unref(snapshot);
                snapshot = copy_table(table);
        }
        struct judge_nodes *nodes = &snapshot->nodes;
        nodes->all_settled_until_unix_ms = node_columns_settled_until_unix_ms(&nodes->columns,
                                                                              nodes->count);
        nodes->built_unix_ms = now_unix_ms;
        snapshot->publication = table->publications;
        return snapshot;
}

static void publish_snapshot(struct node_table *table, int64_t now_unix_ms) {
        struct node_snapshot *next = next_snapshot(table, now_unix_ms);

        (void)pthread_mutex_lock(&table->current_lock);
        table->last = table->current;
        table->current = next;
        (void)pthread_mutex_unlock(&table->current_lock);
}

/* ---- The public side: the loop's thread. */

struct node_table *node_table_new(const struct node_table_options *options, struct policy *policy,
                                  int64_t now_unix_ms) {
        struct node_table *table = xcalloc(1, sizeof(*table));

        table->context.options = *options;
        if (!options->like)
                table->context.estimator = estimator_new(on_estimate_changed, table);
        table->context.bindings_live_until_unix_ms = INT64_MIN;
        table->names = node_names_new(NULL, NULL, 0);
        (void)pthread_mutex_init(&table->current_lock, NULL);
        node_table_set_policy(table, policy, now_unix_ms);
        node_table_publish(table, now_unix_ms);
        return table;
}

void node_table_free(struct node_table *table) {
        struct strmap_entry *entry;

        if (!table)
                return;
        STRMAP_FOREACH (entry, &table->nodes_by_name)
                node_row_free(entry->value);
        strmap_done(&table->nodes_by_name);
        node_columns_done(&table->context.columns);
        node_zones_done(&table->zones);
        free(table->rows);
        free(table->changed_in);
        estimator_free(table->context.estimator);
        node_snapshot_unref(table->current);
        if (table->last)
                node_snapshot_unref(table->last);
        node_names_unref(table->names);
        table_policy_unref(table->context.table_policy);
        (void)pthread_mutex_destroy(&table->current_lock);
        free(table);
}

void node_table_set_policy(struct node_table *table, struct policy *policy, int64_t now_unix_ms) {
        struct row_context *context = &table->context;
        struct table_policy *before = context->table_policy;
        uint64_t generation = before ? before->generation + 1 : 1;

        context->table_policy = policy ? table_policy_new(policy, generation,
                                                          context->options.metrics)
                                       : table_policy_ref(context->options.like->table_policy);
        policy = context->table_policy->policy;
        if (before)
                table_policy_unref(before);
        for (size_t row = 0; row < table->count; row++) {
                struct node_row *node = table->rows[row];
                node->pool = (uint8_t)policy_pool_of(policy, &node->labels);
        }
        bool has_estimate = policy->scoring == POLICY_SCORING_ESTIMATE;
        const struct node_columns like = {.metric_count = policy->metric_count,
                                          .has_estimate = has_estimate};
        resize_columns(table, &like, 0, size_max(table->count, 64));
        for (size_t row = 0; row < table->count; row++)
                parse_row(table, row, now_unix_ms);
        table->is_dirty = true;
}

const struct policy *node_table_policy(const struct node_table *table) {
        return table->context.table_policy->policy;
}

static bool set_load(struct pod_load *load, const json_t *resources) {
        static const char *const names[] = {[ESTIMATE_CPU] = "cpu", [ESTIMATE_MEM] = "memory"};
        bool has_changed = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double of = quantity_at(resources, names[r]);
                has_changed |= of < load->of[r] || of > load->of[r];
                load->of[r] = of;
        }
        return has_changed;
}

/* Readings are shares of the capacity; the allocatable is what pods may request. */
static bool set_room(struct node_row *node, const json_t *object) {
        const json_t *allocatable = json_at(object, "status", "allocatable", NULL);
        double pods_max = quantity_at(allocatable, "pods");
        struct node_facts *facts = &node->facts;
        uint32_t before = facts->pods_max;

        facts->pods_max = pods_max > 0 && pods_max < UINT32_MAX ? (uint32_t)pods_max : 0;
        bool has_changed = set_load(&facts->allocatable, allocatable);
        has_changed |= set_load(&facts->capacity, json_at(object, "status", "capacity", NULL));
        if (node->estimate)
                (void)estimator_set_capacity(node->estimate, &facts->capacity);
        return has_changed || before != facts->pods_max;
}

static bool set_taints(struct node_table *table, struct node_row *node, const json_t *object) {
        const json_t *taints = json_at(object, "spec", "taints", NULL);
        const struct node_taints found = node_taints_read(taints);
        uint8_t level = (uint8_t)node_taints_count(&found),
                zone = node_zones_move(&table->zones, node->zone,
                                       json_at(object, "metadata", "labels", NULL), taints);
        bool is_avoided = found.count > 0;
        bool has_changed = zone != node->zone || level != node->facts.taint_level ||
                           is_avoided != node->facts.is_avoided;
        node->zone = zone;
        node->facts.taint_level = level;
        node->facts.is_avoided = is_avoided;
        return has_changed;
}

static bool set_closed(struct node_table *table, struct node_row *node, const json_t *object) {
        _cleanup_(freep) char *closed_by = node_closed_by(object);

        if (closed_by ? node->closed_by && strcmp(closed_by, node->closed_by) == 0
                      : !node->closed_by)
                return false;
        free(node->closed_by);
        node->closed_by = TAKE_PTR(closed_by);
        table->is_dirty = true;
        return true;
}

bool node_table_put(struct node_table *table, const json_t *object, int64_t now_unix_ms) {
        const json_t *metadata = json_object_get(object, "metadata");
        const char *name = json_string_at(metadata, "name", NULL);

        if (!name)
                return false;
        size_t len = strlen(name);
        struct node_row *node = strmap_get(&table->nodes_by_name, name, len);
        bool has_changed = !node;
        if (has_changed && (len == 0 || len > NODE_NAME_MAX || table->count >= NODE_TABLE_MAX_ROWS))
                return true;
        if (!node)
                node = add_node(table, name, len);
        if (kept_texts_set_labels(&node->labels, json_object_get(metadata, "labels"))) {
                node->pool = (uint8_t)policy_pool_of(node_table_policy(table), &node->labels);
                has_changed = true;
        }
        has_changed |= set_taints(table, node, object);
        has_changed |= set_closed(table, node, object);
        has_changed |= kept_texts_set_annotations(&node->annotations,
                                                  json_object_get(metadata, "annotations"),
                                                  table->context.options.annotation_prefix);
        has_changed |= set_room(node, object);
        if (has_changed)
                parse_row(table, node->row, now_unix_ms);
        return true;
}

void node_table_remove(struct node_table *table, const char *name) {
        struct node_row *node = strmap_get(&table->nodes_by_name, name, strlen(name));

        if (node)
                forget_node(table, node);
}

struct estimator *node_table_estimator(const struct node_table *table) {
        return table->context.estimator;
}

void node_table_bind(struct node_table *table, const char *name, int64_t at_unix_ms,
                     int64_t now_unix_ms) {
        struct node_row *node = strmap_get(&table->nodes_by_name, name, strlen(name));

        if (!node)
                return;
        binding_ring_settle(&node->bound, now_unix_ms);
        binding_ring_add(&node->bound, at_unix_ms, hot_value_keep_ms(node_table_policy(table)));
        settle_row(table, node->row, now_unix_ms);
}

void node_table_forget_bindings(struct node_table *table, int64_t now_unix_ms) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &table->nodes_by_name)
                binding_ring_done(&((struct node_row *)entry->value)->bound);
        table->context.bindings_live_until_unix_ms = INT64_MIN;
        settle_all(table, now_unix_ms);
}

void node_table_set_live(struct node_table *table, bool is_live, int64_t now_unix_ms) {
        if (is_live == (table->context.bindings_live_until_unix_ms == INT64_MAX))
                return;
        table->context.bindings_live_until_unix_ms = is_live ? INT64_MAX : now_unix_ms;
        settle_all(table, now_unix_ms);
}

size_t node_table_count(const struct node_table *table) {
        return table->count;
}

bool node_table_is_dirty(const struct node_table *table) {
        return table->is_dirty || table->has_changed_rows;
}

int64_t node_table_next_change_unix_ms(const struct node_table *table) {
        return node_columns_settled_until_unix_ms(&table->context.columns, table->count);
}

static void renew_names(struct node_table *table) {
        _cleanup_(freep) const char **names = xcalloc(table->count + 1, sizeof(*names));
        _cleanup_(freep) const char **closed_by = xcalloc(table->count + 1, sizeof(*closed_by));

        for (size_t row = 0; row < table->count; row++) {
                names[row] = table->rows[row]->name;
                closed_by[row] = table->rows[row]->closed_by;
        }
        node_names_unref(table->names);
        table->names = node_names_new(names, closed_by, table->count);
}

void node_table_publish(struct node_table *table, int64_t now_unix_ms) {
        /* The clock was set back: expired readings may be valid again. */
        if (now_unix_ms < table->published_unix_ms)
                settle_all(table, now_unix_ms);
        for (size_t row = 0; row < table->count; row++)
                if (table->context.columns.settled_until_unix_ms[row] <= now_unix_ms)
                        settle_row(table, row, now_unix_ms);
        table->publications++;
        if (table->is_dirty) {
                renew_names(table);
                table->whole_in = table->publications;
        }
        publish_snapshot(table, now_unix_ms);
        if (table->context.estimator)
                estimator_published(table->context.estimator, table->publications);
        table->published_unix_ms = now_unix_ms;
        table->is_dirty = table->has_changed_rows = false;
}

struct node_snapshot *node_table_acquire(struct node_table *table) {
        (void)pthread_mutex_lock(&table->current_lock);
        struct node_snapshot *snapshot = node_snapshot_ref(table->current);
        (void)pthread_mutex_unlock(&table->current_lock);
        return snapshot;
}

void node_table_stats(const struct node_table *table, int64_t now_unix_ms,
                      struct node_table_stats *ret) {
        *ret = (struct node_table_stats){.nodes = table->count};
        for (size_t row = 0; row < table->count; row++) {
                const struct node_row *node = table->rows[row];
                for (size_t state = 0; state < READING_STATE_COUNT; state++)
                        ret->readings[state] += node->readings[state];
                ret->skewed += node->skewed;
        }
        size_t expired = node_columns_expired(&table->context.columns, table->count, now_unix_ms);
        ret->readings[READING_USABLE] -= expired;
        ret->readings[READING_EXPIRED] = expired;
}
