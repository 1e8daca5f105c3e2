#include "controller/series/node_metrics.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/track/value_columns.h"
#include "policy/estimate/estimate_terms.h"

enum { NO_VALUE = -1 };

struct row {
        char *name; /* the node's; owned */
        _Atomic uint64_t usable;
        _Atomic int64_t score, hot; /* NO_VALUE: none */
        _Atomic uint8_t pool;
};

/* Shared by the loop's thread and those that render; all but the atomics is constant. */
struct table {
        unsigned users; /* under the lock */
        size_t metric_count, cap, count;
        char (*metrics)[METRIC_NAME_MAX + 1];
        size_t pool_count;
        double *limit_ratio; /* [pool][metric], the first of them for nodes in none; 0: none */
        struct row *rows;
        _Atomic float *usage_ratio; /* [row][metric] */
};

struct node_metrics {
        const struct policy *policy;
        struct estimate_terms terms[POLICY_MAX_POOLS + 1]; /* per pool */
        bool is_outdated, is_policy_new;
        struct table *next; /* between begin and publish */

        pthread_mutex_t lock;
        struct table *table; /* replaced by the loop's thread under the lock */
        struct metrics_series *left_out;
};

static void table_free(struct table *table) {
        for (size_t i = 0; i < table->count; i++)
                free(table->rows[i].name);
        free(table->rows);
        free(table->metrics);
        free(table->limit_ratio);
        free(table->usage_ratio);
        free(table);
}

static struct table *table_get(struct node_metrics *nm) {
        (void)pthread_mutex_lock(&nm->lock);
        struct table *table = nm->table;
        if (table)
                table->users++;
        (void)pthread_mutex_unlock(&nm->lock);
        return table;
}

static void table_put(struct node_metrics *nm, struct table *table) {
        if (!table)
                return;
        (void)pthread_mutex_lock(&nm->lock);
        bool is_last = --table->users == 0;
        (void)pthread_mutex_unlock(&nm->lock);
        if (is_last)
                table_free(table);
}

/* Rendering */

static void begin_family(struct buf *out, const char *name, const char *help) {
        buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

enum { POOL_LABEL_MAX = 24 };

/* Nothing for those in no pool, so that a policy without pools has no such label. */
static const char *pool_label(unsigned pool, char text[static POOL_LABEL_MAX]) {
        text[0] = '\0';
        if (pool > 0)
                (void)snprintf(text, POOL_LABEL_MAX, ",pool=\"%u\"", pool);
        return text;
}

/* "plimsoll_node_score{node="a" */
static void append_node(struct buf *out, const char *name, const struct row *row) {
        buf_puts(out, name);
        buf_puts(out, "{node=\"");
        metrics_append_label(out, row->name);
        buf_putc(out, '"');
}

static void render_usage(const struct table *table, struct buf *out) {
        static const char name[] = "plimsoll_node_usage_ratio";

        begin_family(out, name,
                     "Usage of the node by metric of the policy, with the number of its pool if it "
                     "is in one; none while there is no recent value (--node-metrics).");
        for (size_t i = 0; i < table->count; i++) {
                const struct row *row = &table->rows[i];
                const _Atomic float *ratio = table->usage_ratio + i * table->metric_count;
                uint64_t usable = atomic_load_explicit(&row->usable, memory_order_acquire);
                char text[POOL_LABEL_MAX];
                const char *pool = pool_label(
                        atomic_load_explicit(&row->pool, memory_order_relaxed), text);
                for (size_t k = 0; k < table->metric_count; k++) {
                        if ((usable >> k & 1) == 0)
                                continue;
                        append_node(out, name, row);
                        buf_printf(out, ",metric=\"%s\"%s} %.5g\n", table->metrics[k], pool,
                                   (double)atomic_load_explicit(&ratio[k], memory_order_relaxed));
                }
        }
}

static void render_limits(const struct table *table, struct buf *out) {
        static const char name[] = "plimsoll_node_limit_ratio";

        begin_family(out, name,
                     "Limit of the policy above which a node is rejected, also of each pool by its "
                     "number (--node-metrics).");
        for (size_t k = 0; k < table->metric_count; k++)
                for (unsigned pool = 0; pool <= table->pool_count; pool++) {
                        double limit = table->limit_ratio[pool * table->metric_count + k];
                        char text[POOL_LABEL_MAX];
                        if (limit > 0)
                                buf_printf(out, "%s{metric=\"%s\"%s} %.15g\n", name,
                                           table->metrics[k], pool_label(pool, text), limit);
                }
}

static void render_numbers(const struct table *table, struct buf *out, const char *name,
                           bool is_score) {
        for (size_t i = 0; i < table->count; i++) {
                const struct row *row = &table->rows[i];
                long long value = atomic_load_explicit(is_score ? &row->score : &row->hot,
                                                       memory_order_relaxed);
                if (value == NO_VALUE)
                        continue;
                append_node(out, name, row);
                buf_printf(out, "} %lld\n", value);
        }
}

static void render(void *userdata, struct buf *out) {
        struct node_metrics *nm = userdata;
        struct table *table = table_get(nm);
        size_t begin = out->len;

        if (!table || out->overflow) {
                table_put(nm, table);
                return;
        }
        render_limits(table, out);
        render_usage(table, out);
        begin_family(out, "plimsoll_node_score",
                     "Score of the node by its readings alone, 0 to 100: the headroom with "
                     "scoring: estimate. None with scale: relative (--node-metrics).");
        render_numbers(table, out, "plimsoll_node_score", true);
        begin_family(out, "plimsoll_node_hot_value",
                     "Points for recent bindings, with a policy that has hotValue "
                     "(--node-metrics).");
        render_numbers(table, out, "plimsoll_node_hot_value", false);
        table_put(nm, table);
        if (!out->overflow)
                return;
        /* The other metrics of the page are worth more than these. */
        out->len = begin;
        out->data[begin] = 0;
        out->overflow = false;
        metrics_inc(nm->left_out);
}

/* There may be 100,000, and the thread that renders them answers the probes too: what is the same
 * in each is printed once. */
static size_t write_samples(const struct table *table, size_t metric, int64_t at_unix_ms,
                            struct buf *out) {
        _cleanup_(freep) char *head = xasprintf("\n{\"metric\":{\"__name__\":\"%s\",\"instance\":",
                                                table->metrics[metric]);
        _cleanup_(freep) char *middle = xasprintf("},\"value\":[%lld.%03lld,\"",
                                                  (long long)at_unix_ms / 1000,
                                                  (long long)at_unix_ms % 1000);
        size_t count = 0;

        for (size_t i = 0; i < table->count; i++) {
                const struct row *row = &table->rows[i];
                if ((atomic_load_explicit(&row->usable, memory_order_acquire) >> metric & 1) == 0)
                        continue;
                const _Atomic float *ratio = &table->usage_ratio[i * table->metric_count + metric];
                (void)buf_puts(out, count++ > 0 ? "," : "");
                (void)buf_puts(out, head);
                (void)buf_json_string(out, row->name, strlen(row->name));
                (void)buf_puts(out, middle);
                (void)buf_printf(out, "%.5g\"]}",
                                 (double)atomic_load_explicit(ratio, memory_order_relaxed));
        }
        return count;
}

int node_metrics_samples(struct node_metrics *nm, const char *metric, int64_t at_unix_ms,
                         struct buf *out, size_t *ret_count) {
        struct table *table = table_get(nm);
        int r = table ? -ENOENT : -EAGAIN;

        for (size_t k = 0; table && k < table->metric_count; k++)
                if (strcmp(table->metrics[k], metric) == 0) {
                        *ret_count = write_samples(table, k, at_unix_ms, out);
                        r = 0;
                        break;
                }
        table_put(nm, table);
        return r;
}

/* The loop's thread */

struct node_metrics *node_metrics_new(struct metrics *metrics) {
        struct node_metrics *nm = xcalloc(1, sizeof(*nm));

        if (pthread_mutex_init(&nm->lock, NULL) != 0)
                mem_exhausted();
        if (!metrics)
                return nm;
        nm->left_out = metrics_counter(
                metrics, "plimsoll_node_metrics_left_out_total",
                "Pages that were rendered without the series of nodes, since these did not fit.",
                NULL);
        metrics_set_section(metrics, render, nm);
        return nm;
}

void node_metrics_free(struct node_metrics *nm) {
        if (!nm)
                return;
        table_put(nm, nm->table);
        if (nm->next)
                table_free(nm->next);
        (void)pthread_mutex_destroy(&nm->lock);
        free(nm);
}

void node_metrics_set_policy(struct node_metrics *nm, const struct policy *policy) {
        nm->policy = policy;
        nm->is_outdated = nm->is_policy_new = true;
        for (size_t pool = 0; pool <= policy->pool_count; pool++)
                estimate_terms_init(&nm->terms[pool], policy, pool);
}

void node_metrics_touch(struct node_metrics *nm) {
        nm->is_outdated = true;
}

bool node_metrics_begin(struct node_metrics *nm, size_t count) {
        const struct policy *policy = nm->policy;

        assert(!nm->next);
        if (!nm->is_outdated)
                return false;
        struct table *table = xcalloc(1, sizeof(*table));
        table->users = 1;
        table->cap = count;
        table->metric_count = policy->metric_count;
        table->metrics = xcalloc(policy->metric_count + 1, sizeof(*table->metrics));
        table->pool_count = policy->pool_count;
        table->limit_ratio = xcalloc((policy->pool_count + 1) * (policy->metric_count + 1),
                                     sizeof(*table->limit_ratio));
        table->rows = xcalloc(count + 1, sizeof(*table->rows));
        table->usage_ratio = xcalloc(count * policy->metric_count + 1, sizeof(*table->usage_ratio));
        for (size_t i = 0; i < policy->metric_count; i++)
                memcpy(table->metrics[i], policy->metrics[i].name, sizeof(table->metrics[i]));
        for (size_t pool = 0; pool <= policy->pool_count; pool++)
                for (size_t i = 0; i < policy->metric_count; i++)
                        table->limit_ratio[pool * policy->metric_count + i] = policy_limit_ratio(
                                policy, pool, i);
        nm->next = table;
        return true;
}

static void copy_row(struct table *to, size_t to_row, const struct table *from, size_t from_row) {
        struct row *target = &to->rows[to_row];
        const struct row *source = &from->rows[from_row];

        for (size_t k = 0; k < to->metric_count; k++)
                atomic_init(
                        &to->usage_ratio[to_row * to->metric_count + k],
                        atomic_load_explicit(&from->usage_ratio[from_row * from->metric_count + k],
                                             memory_order_relaxed));
        atomic_init(&target->usable, atomic_load_explicit(&source->usable, memory_order_relaxed));
        atomic_init(&target->score, atomic_load_explicit(&source->score, memory_order_relaxed));
        atomic_init(&target->hot, atomic_load_explicit(&source->hot, memory_order_relaxed));
        atomic_init(&target->pool, atomic_load_explicit(&source->pool, memory_order_relaxed));
}

uint32_t node_metrics_add(struct node_metrics *nm, const char *node, uint32_t row) {
        struct table *table = nm->next;

        assert(table->count < table->cap && table->count < NODE_METRICS_NONE);
        size_t index = table->count++;
        table->rows[index].name = xstrdup(node);
        atomic_init(&table->rows[index].score, NO_VALUE);
        atomic_init(&table->rows[index].hot, NO_VALUE);
        if (row != NODE_METRICS_NONE && !nm->is_policy_new)
                copy_row(table, index, nm->table, row);
        return (uint32_t)index;
}

void node_metrics_publish(struct node_metrics *nm) {
        struct table *old = nm->table;

        (void)pthread_mutex_lock(&nm->lock);
        nm->table = TAKE_PTR(nm->next);
        (void)pthread_mutex_unlock(&nm->lock);
        table_put(nm, old);
        nm->is_outdated = nm->is_policy_new = false;
}

static int64_t score_of(const struct node_metrics *nm, const struct plan_values *values) {
        struct value_columns of;

        value_columns_init(&of, nm->policy, values);
        int score = value_columns_score(&of, nm->policy, nm->terms, values);
        return score < 0 ? NO_VALUE : score;
}

void node_metrics_set(struct node_metrics *nm, uint32_t row, const struct plan_values *values) {
        struct table *table = nm->table;

        if (row == NODE_METRICS_NONE || nm->is_policy_new)
                return;
        struct row *target = &table->rows[row];
        _Atomic float *ratio = table->usage_ratio + row * table->metric_count;
        for (size_t k = 0; k < table->metric_count; k++)
                if ((values->usable >> k & 1) != 0)
                        atomic_store_explicit(&ratio[k], (float)values->ratio[k],
                                              memory_order_relaxed);
        atomic_store_explicit(&target->score, score_of(nm, values), memory_order_relaxed);
        atomic_store_explicit(&target->hot, values->has_hot ? values->hot : NO_VALUE,
                              memory_order_relaxed);
        atomic_store_explicit(&target->pool, values->pool, memory_order_relaxed);
        /* Last: who sees the bit sees the ratio. */
        atomic_store_explicit(&target->usable, values->usable, memory_order_release);
}

void node_metrics_clear(struct node_metrics *nm, uint32_t row) {
        if (row == NODE_METRICS_NONE)
                return;
        struct row *target = &nm->table->rows[row];
        atomic_store_explicit(&target->usable, 0, memory_order_relaxed);
        atomic_store_explicit(&target->score, NO_VALUE, memory_order_relaxed);
        atomic_store_explicit(&target->hot, NO_VALUE, memory_order_relaxed);
}
