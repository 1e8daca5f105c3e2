#include "extender/table/node_table.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "extender/table/node_zones.h"
#include "extender/table/row_estimate.h"
#include "policy/hot_value.h"
#include "policy/kept_annotations.h"

struct node {
        char *name;
        struct node_table *table;
        uint32_t generation;             /* the last list that had it */
        struct estimator_node *estimate; /* of a row, once there is an estimator; may be NULL */
        uint32_t row;                    /* NODE_ROW_NONE: a stranger, known only from bindings */
        uint8_t zone;                    /* of a row: node_zones_move() */
        uint8_t pool;                    /* of a row: policy_pool_of() */
        struct binding_ring bound;       /* recent bindings */
        struct kept_annotations annotations;
        /* Parsed from the annotations. */
        struct annotation hot; /* of node_hot_value */
        int64_t hot_expires_unix_ms;
        uint32_t readings[READING_STATE_COUNT], skewed;
};

struct node_table {
        struct node_table_options options;
        struct table_policy *table_policy;
        struct strmap nodes_by_name; /* struct node */
        size_t stranger_count;

        /* Rows have no gaps: the last one replaces one that is removed. */
        struct node **rows;
        size_t count, cap;
        struct node_columns columns;
        struct node_zones zones;
        uint64_t *changed_in;        /* [row]: the publication that shows its last change */
        uint64_t whole_in;           /* the last publication with changes other than of rows */
        struct estimator *estimator; /* NULL until a policy needs it */
        uint32_t generation;         /* the list that is being read, or the last one */
        size_t readings[READING_STATE_COUNT], skewed; /* sums over the rows */

        /* Until when the watch of bindings was live; INT64_MIN: never; INT64_MAX: it is live. */
        int64_t live_until_unix_ms;

        struct node_names *names; /* of the last publication; outdated if has_new_names */
        bool has_new_names;
        bool has_changed_rows, is_dirty; /* is_dirty: more than rows has changed */
        int64_t published_unix_ms;
        uint64_t publications;

        pthread_mutex_t current_lock; /* guards nothing but the next line */
        struct node_snapshot *current;
        struct node_snapshot *last; /* before it: the next one reuses its memory; may be NULL */
};

/* ---- One node's annotations. */

static void table_read_annotation(const struct node_table *table, const struct node *node,
                                  const char *key, int64_t period_ms, struct reading *ret) {
        node_annotation_read(kept_annotations_get(&node->annotations, key), table->options.zone,
                             period_ms, ret);
}

static void read_metric(const struct node_table *table, const struct node *node, size_t metric,
                        struct reading *ret) {
        const struct policy_metric *of = &node_table_policy(table)->metrics[metric];

        table_read_annotation(table, node, of->name, of->period_ms, ret);
        if (table->options.is_percent)
                ret->value /= 100;
}

/* ---- One row. */

static int64_t earlier_if_ahead(int64_t until, int64_t candidate, int64_t now_unix_ms) {
        return candidate > now_unix_ms && candidate < until ? candidate : until;
}

/* The hot value in use: the count or the annotation, whichever is newer. */
static int64_t settle_hot(struct node_table *table, size_t row, int64_t now_unix_ms) {
        const struct policy *policy = node_table_policy(table);
        struct node *node = table->rows[row];
        bool is_counted = policy->hot_value_count > 0 && table->live_until_unix_ms != INT64_MIN;
        bool is_annotated = node->hot_expires_unix_ms != READING_NEVER;

        if (!is_counted || (is_annotated && node->hot.at_unix_ms > table->live_until_unix_ms)) {
                table->columns.hot[row] = is_annotated ? node->hot.value : 0;
                table->columns.hot_expires_unix_ms[row] = node->hot_expires_unix_ms;
                return node->hot_expires_unix_ms;
        }
        binding_ring_settle(&node->bound, now_unix_ms);
        table->columns.hot[row] = (double)hot_value(policy, &node->bound, now_unix_ms);
        table->columns.hot_expires_unix_ms[row] = INT64_MAX;
        return hot_value_next_change_unix_ms(policy, &node->bound, now_unix_ms);
}

static void settle_estimate(struct node_table *table, size_t row, int64_t now_unix_ms) {
        const struct node *node = table->rows[row];
        struct estimator_usage usage = {0};

        if (node->estimate)
                estimator_usage(table->estimator, node->estimate, &usage);
        row_estimate_settle(&table->columns, row, node_table_policy(table),
                            &table->table_policy->terms[node->pool], usage, now_unix_ms);
        table->columns.estimate_number[row] = node->estimate ? estimator_node_number(node->estimate)
                                                             : ESTIMATOR_MAX_NODES;
}

static void settle_row(struct node_table *table, size_t row, int64_t now_unix_ms) {
        struct node_columns *columns = &table->columns;
        struct reading_columns view = node_columns_view(columns);
        int64_t until = earlier_if_ahead(INT64_MAX, settle_hot(table, row, now_unix_ms),
                                         now_unix_ms);

        for (size_t i = 0; i < columns->metric_count; i++)
                until = earlier_if_ahead(until, columns->expires_unix_ms[i][row], now_unix_ms);
        if (columns->has_estimate)
                settle_estimate(table, row, now_unix_ms);
        columns->settled_until_unix_ms[row] = until;
        columns->limits[row] = verdict_filter(node_table_policy(table), &view, row, now_unix_ms);
        columns->score100[row] =
                (uint8_t)(columns->has_estimate
                                  ? node_columns_score100(
                                            columns,
                                            &table->table_policy->terms[columns->pool[row]], row)
                                  : verdict_score100(node_table_policy(table), &view, row, NULL,
                                                     now_unix_ms));
        table->changed_in[row] = table->publications + 1;
        table->has_changed_rows = true;
}

static void forget_parsing(struct node_table *table, struct node *node) {
        for (size_t state = 0; state < READING_STATE_COUNT; state++)
                table->readings[state] -= node->readings[state];
        table->skewed -= node->skewed;
        memset(node->readings, 0, sizeof(node->readings));
        node->skewed = 0;
}

/* @metric: -1: none */
static struct tracked_reading tracked_mean(const struct node_table *table, const struct node *node,
                                           int metric, const struct reading *covered,
                                           int64_t now_unix_ms) {
        struct reading mean;

        if (metric < 0)
                return (struct tracked_reading){0};
        read_metric(table, node, (size_t)metric, &mean);
        return row_estimate_reading(&mean,
                                    node_table_policy(table)->metrics[metric].query.window_ms,
                                    covered, now_unix_ms);
}

static void read_for_estimate(struct node_table *table, struct node *node, int64_t now_unix_ms) {
        const struct estimate_terms *terms = &table->table_policy->terms[node->pool];
        struct reading covered;

        table_read_annotation(table, node, ANNOTATION_COVERED, 0, &covered);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct tracked_reading reading = tracked_mean(table, node, terms->metric[r],
                                                                    &covered, now_unix_ms),
                                             shorter = tracked_mean(table, node, terms->shorter[r],
                                                                    &covered, now_unix_ms);
                if (reading.window_ms > 0)
                        estimator_read(table->estimator, node->estimate, r, &reading, &shorter);
                else if (terms->metric[r] < 0)
                        estimator_forget_reading(node->estimate, r);
        }
}

/* Fill the columns from the annotations that were kept. */
static void parse_row(struct node_table *table, size_t row, int64_t now_unix_ms) {
        struct node *node = table->rows[row];
        struct reading reading;

        forget_parsing(table, node);
        table->columns.zone[row] = node->zone;
        table->columns.pool[row] = node->pool;
        for (size_t i = 0; i < table->columns.metric_count; i++) {
                read_metric(table, node, i, &reading);
                table->columns.usage_ratio[i][row] = reading.value;
                table->columns.expires_unix_ms[i][row] = reading.expires_unix_ms;
                if (reading.state != READING_MISSING ||
                    !policy_is_of_others(node_table_policy(table), node->pool, i))
                        node->readings[reading.state]++;
                node->skewed += reading.at_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS;
        }
        if (table->columns.has_estimate && node->estimate)
                read_for_estimate(table, node, now_unix_ms);
        table_read_annotation(table, node, ANNOTATION_HOT_VALUE, 0, &reading);
        node->hot = (struct annotation){reading.value, reading.at_unix_ms};
        node->hot_expires_unix_ms = reading.expires_unix_ms;
        for (size_t state = 0; state < READING_STATE_COUNT; state++)
                table->readings[state] += node->readings[state];
        table->skewed += node->skewed;
        settle_row(table, row, now_unix_ms);
}

/* ---- The set of rows. */

/* @like: the columns' shape; the first @count rows of it are kept */
static void resize_columns(struct node_table *table, const struct node_columns *like, size_t count,
                           size_t cap) {
        struct node_columns columns = node_columns_new(like, count, cap);

        node_columns_done(&table->columns);
        table->columns = columns;
        table->rows = xreallocarray(table->rows, cap, sizeof(*table->rows));
        table->changed_in = xreallocarray(table->changed_in, cap, sizeof(*table->changed_in));
        table->cap = cap;
}

static void move_row(struct node_table *table, size_t to, size_t from) {
        node_columns_move(&table->columns, to, from);
        table->rows[to] = table->rows[from];
        table->rows[to]->row = (uint32_t)to;
}

static struct node *node_new(struct node_table *table, const char *name, size_t len) {
        struct node *node = xcalloc(1, sizeof(*node));

        node->table = table;
        node->name = xmemdup0(name, len);
        node->row = NODE_ROW_NONE;
        node->hot_expires_unix_ms = READING_NEVER;
        (void)strmap_put(&table->nodes_by_name, name, len, node);
        table->stranger_count++;
        return node;
}

static void table_node_free(struct node *node) {
        binding_ring_done(&node->bound);
        kept_annotations_done(&node->annotations);
        free(node->name);
        free(node);
}

static void forget_node(struct node_table *table, struct node *node) {
        (void)strmap_remove(&table->nodes_by_name, node->name, strlen(node->name));
        if (node->row == NODE_ROW_NONE) {
                table->stranger_count--;
        } else {
                forget_parsing(table, node);
                (void)node_zones_move(&table->zones, node->zone, NULL, NULL);
                if (node->estimate)
                        estimator_node_release(table->estimator, node->estimate);
                table->count--;
                if (node->row != table->count)
                        move_row(table, node->row, table->count);
                table->has_new_names = table->is_dirty = true;
        }
        table_node_free(node);
}

static void hold_estimate(struct node_table *table, struct node *node) {
        if (table->estimator && !node->estimate)
                node->estimate = estimator_node_hold(table->estimator, node->name,
                                                     strlen(node->name), node);
}

static void add_row(struct node_table *table, struct node *node) {
        if (table->count == table->cap)
                resize_columns(table, &table->columns, table->count, table->cap * 2);
        node->row = (uint32_t)table->count;
        hold_estimate(table, node);
        table->rows[table->count++] = node;
        table->stranger_count--;
        table->has_new_names = table->is_dirty = true;
}

/* ---- The public side: the loop's thread. */

/* The snapshot before the current one becomes the next one: workers have long released it. */
static void publish_snapshot(struct node_table *table, int64_t now_unix_ms) {
        const struct node_snapshot_source source = {
                .table_policy = table->table_policy,
                .estimator = table->estimator,
                .names = table->names,
                .columns = &table->columns,
                .count = table->count,
                .changed_in = table->changed_in,
                .whole_in = table->whole_in,
                .publication = table->publications,
        };
        struct node_snapshot *next = node_snapshot_next(table->last, &source, now_unix_ms);

        (void)pthread_mutex_lock(&table->current_lock);
        table->last = table->current;
        table->current = next;
        (void)pthread_mutex_unlock(&table->current_lock);
}

struct node_table *node_table_new(const struct node_table_options *options, struct policy *policy,
                                  int64_t now_unix_ms) {
        struct node_table *table = xcalloc(1, sizeof(*table));

        table->options = *options;
        table->live_until_unix_ms = INT64_MIN;
        table->names = node_names_new(NULL, 0);
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
                table_node_free(entry->value);
        strmap_done(&table->nodes_by_name);
        node_columns_done(&table->columns);
        node_zones_done(&table->zones);
        free(table->rows);
        free(table->changed_in);
        estimator_free(table->estimator);
        node_snapshot_unref(table->current);
        if (table->last)
                node_snapshot_unref(table->last);
        node_names_unref(table->names);
        table_policy_unref(table->table_policy);
        (void)pthread_mutex_destroy(&table->current_lock);
        free(table);
}

/* However often a node changes, its row is computed once, at the next publication. */
static void on_estimate_changed(void *userdata, void *owner) {
        const struct node *node = owner;

        (void)userdata;
        node->table->columns.settled_until_unix_ms[node->row] = INT64_MIN;
        node->table->has_changed_rows = true;
}

void node_table_set_policy(struct node_table *table, struct policy *policy, int64_t now_unix_ms) {
        struct table_policy *before = table->table_policy;
        uint64_t generation = before ? before->generation + 1 : 1;
        bool has_same_pools = before && policy_has_same_pools(before->policy, policy);

        for (size_t row = 0; row < table->count && !has_same_pools; row++)
                table->rows[row]->pool = 0;
        if (before)
                table_policy_unref(before);
        table->table_policy = table_policy_new(policy, generation, table->options.metrics);
        bool has_estimate = policy->scoring == POLICY_SCORING_ESTIMATE;
        if (has_estimate && !table->estimator)
                table->estimator = estimator_new(on_estimate_changed, NULL);
        const struct node_columns like = {.metric_count = policy->metric_count,
                                          .has_estimate = has_estimate};
        resize_columns(table, &like, 0, size_max(table->count, 64));
        for (size_t row = 0; row < table->count; row++) {
                hold_estimate(table, table->rows[row]);
                parse_row(table, row, now_unix_ms);
        }
        table->is_dirty = true;
}

const struct policy *node_table_policy(const struct node_table *table) {
        return table->table_policy->policy;
}

void node_table_put(struct node_table *table, const char *name, const json_t *annotations,
                    int64_t now_unix_ms) {
        size_t len = strlen(name);
        struct node *node = strmap_get(&table->nodes_by_name, name, len);
        bool is_new = !node || node->row == NODE_ROW_NONE;

        if (is_new && (len == 0 || len > NODE_NAME_MAX || table->count >= NODE_TABLE_MAX_ROWS))
                return;
        if (!node)
                node = node_new(table, name, len);
        if (is_new)
                add_row(table, node);
        node->generation = table->generation;
        bool has_changed = kept_annotations_set(&node->annotations, annotations,
                                                table->options.annotation_prefix);
        if (is_new || has_changed)
                parse_row(table, node->row, now_unix_ms);
}

void node_table_remove(struct node_table *table, const char *name) {
        struct node *node = strmap_get(&table->nodes_by_name, name, strlen(name));

        if (node)
                forget_node(table, node);
}

void node_table_list_begins(struct node_table *table) {
        table->generation++;
}

void node_table_list_ended(struct node_table *table) {
        for (size_t row = table->count; row-- > 0;)
                if (table->rows[row]->generation != table->generation)
                        forget_node(table, table->rows[row]);
}

void node_table_set_capacity(struct node_table *table, const char *name, const json_t *capacity,
                             int64_t now_unix_ms) {
        struct node *node = strmap_get(&table->nodes_by_name, name, strlen(name));
        const struct pod_load load = {.of = {[ESTIMATE_CPU] = quantity_at(capacity, "cpu"),
                                             [ESTIMATE_MEM] = quantity_at(capacity, "memory")}};

        if (node && node->estimate && estimator_set_capacity(node->estimate, &load))
                parse_row(table, node->row, now_unix_ms);
}

void node_table_set_zone(struct node_table *table, const char *name, const json_t *labels,
                         const json_t *taints) {
        struct node *node = strmap_get(&table->nodes_by_name, name, strlen(name));

        if (!node || node->row == NODE_ROW_NONE)
                return;
        uint8_t zone = node_zones_move(&table->zones, node->zone, labels, taints);
        table->is_dirty |= zone != node->zone;
        table->columns.zone[node->row] = node->zone = zone;
}

void node_table_set_pool(struct node_table *table, const char *name, const json_t *labels,
                         int64_t now_unix_ms) {
        struct node *node = strmap_get(&table->nodes_by_name, name, strlen(name));
        uint8_t pool = (uint8_t)policy_pool_of(node_table_policy(table), labels);

        if (!node || node->row == NODE_ROW_NONE || pool == node->pool)
                return;
        node->pool = pool;
        parse_row(table, node->row, now_unix_ms);
}

bool node_table_put_object(struct node_table *table, const json_t *node, int64_t now_unix_ms) {
        const json_t *metadata = json_object_get(node, "metadata");
        const json_t *labels = json_object_get(metadata, "labels");
        const char *name = json_string_at(metadata, "name", NULL);

        if (!name)
                return false;
        node_table_put(table, name, json_object_get(metadata, "annotations"), now_unix_ms);
        node_table_set_zone(table, name, labels, json_at(node, "spec", "taints", NULL));
        node_table_set_pool(table, name, labels, now_unix_ms);
        node_table_set_capacity(table, name, json_at(node, "status", "capacity", NULL),
                                now_unix_ms);
        return true;
}

struct estimator *node_table_estimator(const struct node_table *table) {
        return table->estimator;
}

/* Strangers whose bindings are all too old to count. */
static void forget_old_strangers(struct node_table *table, int64_t now_unix_ms) {
        int64_t keep_ms = hot_value_keep_ms(node_table_policy(table));
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &table->nodes_by_name) {
                struct node *node = entry->value;
                if (node->row == NODE_ROW_NONE &&
                    binding_ring_count(&node->bound, now_unix_ms, keep_ms) == 0)
                        forget_node(table, node);
        }
}

void node_table_bind(struct node_table *table, const char *name, int64_t at_unix_ms,
                     int64_t now_unix_ms) {
        size_t len = strlen(name);
        struct node *node = strmap_get(&table->nodes_by_name, name, len);

        if (!node) {
                if (len == 0 || len > NODE_NAME_MAX)
                        return;
                if (table->stranger_count >= NODE_TABLE_MAX_STRANGERS)
                        forget_old_strangers(table, now_unix_ms);
                if (table->stranger_count >= NODE_TABLE_MAX_STRANGERS)
                        return;
                node = node_new(table, name, len);
        }
        binding_ring_settle(&node->bound, now_unix_ms);
        binding_ring_add(&node->bound, at_unix_ms, hot_value_keep_ms(node_table_policy(table)));
        if (node->row != NODE_ROW_NONE)
                settle_row(table, node->row, now_unix_ms);
}

static void settle_all(struct node_table *table, int64_t now_unix_ms) {
        for (size_t row = 0; row < table->count; row++)
                settle_row(table, row, now_unix_ms);
}

void node_table_forget_bindings(struct node_table *table, int64_t now_unix_ms) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &table->nodes_by_name)
                binding_ring_done(&((struct node *)entry->value)->bound);
        table->live_until_unix_ms = INT64_MIN;
        settle_all(table, now_unix_ms);
}

void node_table_set_live(struct node_table *table, bool is_live, int64_t now_unix_ms) {
        if (is_live == (table->live_until_unix_ms == INT64_MAX))
                return;
        table->live_until_unix_ms = is_live ? INT64_MAX : now_unix_ms;
        settle_all(table, now_unix_ms);
}

size_t node_table_count(const struct node_table *table) {
        return table->count;
}

size_t node_table_pool(const struct node_table *table, size_t row) {
        return table->rows[row]->pool;
}

const char *node_table_name(const struct node_table *table, size_t row) {
        return table->rows[row]->name;
}

bool node_table_is_dirty(const struct node_table *table) {
        return table->is_dirty || table->has_changed_rows;
}

int64_t node_table_next_change_unix_ms(const struct node_table *table) {
        return node_columns_settled_until_unix_ms(&table->columns, table->count);
}

static void renew_names(struct node_table *table) {
        _cleanup_(freep) const char **names = xcalloc(table->count, sizeof(*names));

        for (size_t row = 0; row < table->count; row++)
                names[row] = table->rows[row]->name;
        node_names_unref(table->names);
        table->names = node_names_new(names, table->count);
        table->has_new_names = false;
}

void node_table_publish(struct node_table *table, int64_t now_unix_ms) {
        /* The clock was set back: readings that had expired may be valid again. */
        if (now_unix_ms < table->published_unix_ms)
                settle_all(table, now_unix_ms);
        for (size_t row = 0; row < table->count; row++)
                if (table->columns.settled_until_unix_ms[row] <= now_unix_ms)
                        settle_row(table, row, now_unix_ms);
        if (table->has_new_names)
                renew_names(table);
        table->publications++;
        if (table->is_dirty)
                table->whole_in = table->publications;
        publish_snapshot(table, now_unix_ms);
        if (table->estimator)
                estimator_published(table->estimator, table->publications);
        table->published_unix_ms = now_unix_ms;
        table->is_dirty = table->has_changed_rows = false;
}

struct node_snapshot *node_table_acquire(struct node_table *table) {
        (void)pthread_mutex_lock(&table->current_lock);
        struct node_snapshot *snapshot = node_snapshot_ref(table->current);
        (void)pthread_mutex_unlock(&table->current_lock);
        return snapshot;
}

/* ---- Readings for explain, and statistics. */

static void judge_age(struct reading *reading, int64_t now_unix_ms) {
        if (reading->state == READING_USABLE && now_unix_ms >= reading->expires_unix_ms)
                reading->state = READING_EXPIRED;
}

void node_table_reading(const struct node_table *table, size_t row, size_t metric,
                        int64_t now_unix_ms, struct reading *ret) {
        read_metric(table, table->rows[row], metric, ret);
        judge_age(ret, now_unix_ms);
}

void node_table_hot_reading(const struct node_table *table, size_t row, int64_t now_unix_ms,
                            struct reading *ret) {
        table_read_annotation(table, table->rows[row], ANNOTATION_HOT_VALUE, 0, ret);
        judge_age(ret, now_unix_ms);
}

void node_table_stats(const struct node_table *table, int64_t now_unix_ms,
                      struct node_table_stats *ret) {
        size_t expired = node_columns_expired(&table->columns, table->count, now_unix_ms);

        *ret = (struct node_table_stats){
                .nodes = table->count,
                .skewed = table->skewed,
                .publications = table->publications,
        };
        memcpy(ret->readings, table->readings, sizeof(ret->readings));
        ret->readings[READING_USABLE] -= expired;
        ret->readings[READING_EXPIRED] = expired;
}
