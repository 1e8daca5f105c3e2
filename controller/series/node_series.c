#include "controller/series/node_series.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
        NAME_MAX_BYTES = 1 << 10,
        POOL_LABEL_MAX = 24,
        LIMITS_MAX_BYTES = 1 << 20, /* enough for POLICY_MAX_POOLS */
};

struct series_row {
        size_t name_at; /* offset in the copy's names */
        uint64_t usable;
        int64_t hot; /* negative: none */
        uint8_t pool;
        float usage_ratio[]; /* [metric] */
};

/* Immutable after it is published. */
struct series_copy {
        unsigned users; /* under the lock */
        size_t metric_count;
        char (*metrics)[METRIC_NAME_MAX + 1];
        struct buf limits; /* rendered */
        size_t count, max_count, row_bytes;
        char *rows;
        struct buf names; /* each with a zero byte */
};

struct node_series {
        const struct policy *policy;
        struct series_copy *next; /* between begin and publish */

        pthread_mutex_t lock;
        struct series_copy *published; /* replaced by the loop's thread, under the lock */
        struct metrics_series *left_out;
};

static size_t row_bytes(const struct policy *policy) {
        size_t bytes = sizeof(struct series_row) + policy->metric_count * sizeof(float);

        return (bytes + 7) / 8 * 8;
}

static struct series_row *row_at(const struct series_copy *copy, size_t index) {
        return (struct series_row *)(void *)(copy->rows + index * copy->row_bytes);
}

static const char *row_name(const struct series_copy *copy, const struct series_row *row) {
        return copy->names.data + row->name_at;
}

static void copy_free(struct series_copy *copy) {
        free(copy->rows);
        free(copy->metrics);
        buf_done(&copy->limits);
        buf_done(&copy->names);
        free(copy);
}

static struct series_copy *copy_ref(struct node_series *series) {
        (void)pthread_mutex_lock(&series->lock);
        struct series_copy *copy = series->published;
        if (copy)
                copy->users++;
        (void)pthread_mutex_unlock(&series->lock);
        return copy;
}

static void copy_unref(struct node_series *series, struct series_copy *copy) {
        if (!copy)
                return;
        (void)pthread_mutex_lock(&series->lock);
        bool is_last = --copy->users == 0;
        (void)pthread_mutex_unlock(&series->lock);
        if (is_last)
                copy_free(copy);
}

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

static void render_usage(const struct series_copy *copy, struct buf *out) {
        static const char name[] = "plimsoll_node_usage_ratio";

        begin_family(
                out, name,
                "Usage of a node by metric of the policy, with the number of its pool if it is "
                "in one. Nodes without a recent value have no series (--node-series).");
        for (size_t i = 0; i < copy->count; i++) {
                const struct series_row *row = row_at(copy, i);
                char text[POOL_LABEL_MAX];
                const char *pool = pool_label(row->pool, text);
                for (size_t k = 0; k < copy->metric_count; k++) {
                        if ((row->usable >> k & 1) == 0)
                                continue;
                        append_node_label(out, name, row_name(copy, row));
                        buf_printf(out, ",metric=\"%s\"%s} %.5g\n", copy->metrics[k], pool,
                                   (double)row->usage_ratio[k]);
                }
        }
}

static void render_limits(const struct policy *policy, struct buf *out) {
        static const char name[] = "plimsoll_node_limit_ratio";

        begin_family(out, name,
                     "Limit of the policy above which a node is rejected; limits of pools have the "
                     "number of the pool (--node-series).");
        for (size_t k = 0; k < policy->metric_count; k++)
                for (unsigned pool = 0; pool <= policy->pool_count; pool++) {
                        double limit = policy_limit_ratio(policy, pool, k);
                        char text[POOL_LABEL_MAX];
                        if (limit > 0)
                                buf_printf(out, "%s{metric=\"%s\"%s} %.15g\n", name,
                                           policy->metrics[k].name, pool_label(pool, text), limit);
                }
}

static void render_hot_values(const struct series_copy *copy, struct buf *out) {
        static const char name[] = "plimsoll_node_hot_value";

        begin_family(out, name,
                     "Points for recent bindings, if the policy has hotValue (--node-series).");
        for (size_t i = 0; i < copy->count; i++) {
                const struct series_row *row = row_at(copy, i);
                if (row->hot < 0)
                        continue;
                append_node_label(out, name, row_name(copy, row));
                buf_printf(out, "} %lld\n", (long long)row->hot);
        }
}

static void render_copy(const struct series_copy *copy, struct buf *out) {
        buf_append(out, copy->limits.data, copy->limits.len);
        render_usage(copy, out);
        render_hot_values(copy, out);
}

static void render_series(void *userdata, struct buf *out) {
        struct node_series *series = userdata;
        struct series_copy *copy = copy_ref(series);
        size_t begin = out->len;

        if (copy && !out->overflow) {
                render_copy(copy, out);
                if (out->overflow) {
                        /* Keep the other metrics of the page. */
                        out->len = begin;
                        out->data[begin] = 0;
                        out->overflow = false;
                        metrics_inc(series->left_out);
                }
        }
        copy_unref(series, copy);
}

/* The loop's thread */

struct node_series *node_series_new(struct metrics *metrics) {
        struct node_series *series = xcalloc(1, sizeof(*series));

        if (pthread_mutex_init(&series->lock, NULL) != 0)
                mem_exhausted();
        series->left_out = metrics_counter(
                metrics, "plimsoll_node_metrics_left_out_total",
                "Pages without the series of nodes, since these did not fit.", NULL);
        metrics_set_section(metrics, render_series, series);
        return series;
}

void node_series_free(struct node_series *series) {
        if (!series)
                return;
        copy_unref(series, series->published);
        (void)pthread_mutex_destroy(&series->lock);
        free(series);
}

void node_series_set_policy(struct node_series *series, const struct policy *policy) {
        series->policy = policy;
}

void node_series_keep(const struct node_series *series, struct series_row **row,
                      const struct plan_values *values) {
        if (!*row)
                *row = xcalloc(1, row_bytes(series->policy));
        (*row)->usable = values->usable;
        (*row)->hot = values->has_hot ? values->hot : -1;
        (*row)->pool = values->pool;
        for (size_t i = 0; i < series->policy->metric_count; i++)
                if (plan_has(values, i))
                        (*row)->usage_ratio[i] = (float)values->ratio[i];
}

void node_series_begin(struct node_series *series, size_t count) {
        const struct policy *policy = series->policy;
        struct series_copy *copy = xcalloc(1, sizeof(*copy));

        assert(!series->next);
        copy->users = 1;
        copy->metric_count = policy->metric_count;
        copy->metrics = xcalloc(policy->metric_count + 1, sizeof(*copy->metrics));
        for (size_t i = 0; i < policy->metric_count; i++)
                memcpy(copy->metrics[i], policy->metrics[i].name, sizeof(copy->metrics[i]));
        copy->limits = BUF_INIT(LIMITS_MAX_BYTES);
        render_limits(policy, &copy->limits);
        copy->max_count = count;
        copy->row_bytes = row_bytes(policy);
        copy->rows = xmalloc(count * copy->row_bytes + 1);
        copy->names = BUF_INIT((count + 1) * NAME_MAX_BYTES);
        series->next = copy;
}

void node_series_add(struct node_series *series, const char *name, const struct series_row *row) {
        struct series_copy *copy = series->next;

        if (!row)
                return;
        assert(copy->count < copy->max_count);
        struct series_row *to = row_at(copy, copy->count++);
        memcpy(to, row, copy->row_bytes);
        to->name_at = copy->names.len;
        (void)buf_append(&copy->names, name, strlen(name) + 1);
}

void node_series_publish(struct node_series *series) {
        struct series_copy *old = series->published;

        (void)pthread_mutex_lock(&series->lock);
        series->published = TAKE_PTR(series->next);
        (void)pthread_mutex_unlock(&series->lock);
        copy_unref(series, old);
}
