#include "controller/series/node_series.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { POOL_LABEL_MAX = 24 };

struct series_row {
        const char *name;
        uint64_t usable;
        int64_t hot; /* negative: none */
        uint8_t pool;
        float usage_ratio[]; /* [metric] */
};

struct node_series {
        pthread_mutex_t lock; /* guards what follows; only the loop's thread changes it */
        const struct policy *policy;
        struct series_row **rows; /* by the node's slot; NULL: none */
        size_t row_cap;

        struct metrics_series *left_out;
};

/* Rendering */

static void begin_family(struct buf *out, const char *name, const char *help) {
        buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Nodes in no pool have no such label. */
static const char *pool_label(unsigned pool, char text[static POOL_LABEL_MAX]) {
        text[0] = '\0';
        if (pool > 0)
                (void)snprintf(text, POOL_LABEL_MAX, ",pool=\"%u\"", pool);
        return text;
}

/* "plimsoll_node_hot_value{node="a" */
static void append_node_label(struct buf *out, const char *name, const char *node) {
        buf_puts(out, name);
        buf_puts(out, "{node=\"");
        metrics_append_label(out, node);
        buf_putc(out, '"');
}

/* @out has the lines of one row. */
typedef void render_row_fn(const struct policy *policy, const struct series_row *row,
                           struct buf *out);

static void render_rows(struct node_series *series, render_row_fn *render, struct buf *out) {
        bool is_end = false;

        for (size_t slot = 0; !is_end; slot++) {
                (void)pthread_mutex_lock(&series->lock);
                is_end = slot >= series->row_cap;
                if (!is_end && series->rows[slot])
                        render(series->policy, series->rows[slot], out);
                (void)pthread_mutex_unlock(&series->lock);
        }
}

#define USAGE "plimsoll_node_usage_ratio"
#define LIMIT "plimsoll_node_limit_ratio"
#define HOT "plimsoll_node_hot_value"

static void render_usage(const struct policy *policy, const struct series_row *row,
                         struct buf *out) {
        char text[POOL_LABEL_MAX];
        const char *pool = pool_label(row->pool, text);

        for (size_t k = 0; k < policy->metric_count; k++) {
                if ((row->usable >> k & 1) == 0)
                        continue;
                append_node_label(out, USAGE, row->name);
                buf_printf(out, ",metric=\"%s\"%s} %.5g\n", policy->metrics[k].name, pool,
                           (double)row->usage_ratio[k]);
        }
}

static void render_hot_value(const struct policy *policy, const struct series_row *row,
                             struct buf *out) {
        (void)policy;
        if (row->hot < 0)
                return;
        append_node_label(out, HOT, row->name);
        buf_printf(out, "} %lld\n", (long long)row->hot);
}

static void render_limits(struct node_series *series, struct buf *out) {
        (void)pthread_mutex_lock(&series->lock);
        const struct policy *policy = series->policy;
        for (size_t k = 0; k < policy->metric_count; k++)
                for (unsigned pool = 0; pool <= policy->pool_count; pool++) {
                        double limit = policy_limit_ratio(policy, pool, k);
                        char text[POOL_LABEL_MAX];
                        if (limit > 0)
                                buf_printf(out, LIMIT "{metric=\"%s\"%s} %.15g\n",
                                           policy->metrics[k].name, pool_label(pool, text), limit);
                }
        (void)pthread_mutex_unlock(&series->lock);
}

static void render_series(void *userdata, struct buf *out) {
        struct node_series *series = userdata;
        size_t begin = out->len;

        if (out->overflow)
                return;
        begin_family(out, LIMIT,
                     "Limit of the policy above which a node is rejected; limits of pools have the "
                     "number of the pool (--node-series).");
        render_limits(series, out);
        begin_family(
                out, USAGE,
                "Usage of a node by metric of the policy, with the number of its pool if it is "
                "in one. Nodes without a recent value have no series (--node-series).");
        render_rows(series, render_usage, out);
        begin_family(out, HOT,
                     "Points for recent bindings, if the policy has hotValue (--node-series).");
        render_rows(series, render_hot_value, out);
        if (!out->overflow)
                return;
        /* Keep the other metrics of the page. */
        out->len = begin;
        out->data[begin] = 0;
        out->overflow = false;
        metrics_inc(series->left_out);
}

/* The loop's thread */

struct node_series *node_series_new(struct metrics *metrics, const struct policy *policy) {
        struct node_series *series = xcalloc(1, sizeof(*series));

        if (pthread_mutex_init(&series->lock, NULL) != 0)
                mem_exhausted();
        series->policy = policy;
        series->left_out = metrics_counter(
                metrics, "plimsoll_node_metrics_left_out_total",
                "Pages without the series of nodes, since these did not fit.", NULL);
        metrics_set_section(metrics, render_series, series);
        return series;
}

static void drop_rows(struct node_series *series) {
        for (size_t slot = 0; slot < series->row_cap; slot++)
                free(TAKE_PTR(series->rows[slot]));
}

void node_series_free(struct node_series *series) {
        if (!series)
                return;
        drop_rows(series);
        free(series->rows);
        (void)pthread_mutex_destroy(&series->lock);
        free(series);
}

void node_series_set_policy(struct node_series *series, const struct policy *policy) {
        (void)pthread_mutex_lock(&series->lock);
        drop_rows(series);
        series->policy = policy;
        (void)pthread_mutex_unlock(&series->lock);
}

/* The row of a slot, as the last policy's if it is new. Under the lock. */
static struct series_row *get_row(struct node_series *series, size_t slot) {
        while (slot >= series->row_cap) {
                size_t before = series->row_cap;
                mem_grow(&series->rows, before, &series->row_cap);
                memset(series->rows + before, 0,
                       (series->row_cap - before) * sizeof(*series->rows));
        }
        if (!series->rows[slot])
                series->rows[slot] = xcalloc(1,
                                             sizeof(struct series_row) +
                                                     series->policy->metric_count * sizeof(float));
        return series->rows[slot];
}

void node_series_keep(struct node_series *series, size_t slot, const char *name,
                      const struct plan_values *values) {
        (void)pthread_mutex_lock(&series->lock);
        struct series_row *row = get_row(series, slot);
        row->name = name;
        row->usable = values->usable;
        row->hot = values->has_hot ? values->hot : -1;
        row->pool = values->pool;
        for (size_t i = 0; i < series->policy->metric_count; i++)
                if (plan_has(values, i))
                        row->usage_ratio[i] = (float)values->ratio[i];
        (void)pthread_mutex_unlock(&series->lock);
}

void node_series_drop(struct node_series *series, size_t slot) {
        (void)pthread_mutex_lock(&series->lock);
        if (slot < series->row_cap)
                free(TAKE_PTR(series->rows[slot]));
        (void)pthread_mutex_unlock(&series->lock);
}
