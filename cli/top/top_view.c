#include "cli/top/top_view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/mem.h"
#include "codec/json.h"

enum { SKEW_S = 60 }; /* a timestamp further ahead of the clock is from the future */

/* @fallback: it is no number */
static double number_at(const json_t *object, const char *key, double fallback) {
        const json_t *number = json_at(object, key, NULL);

        return json_is_number(number) ? json_number_value(number) : fallback;
}

/* ---- Columns. */

/* "CPU 1h max" for cpu_usage_max_avg_1h. A name without statistic and window does not change. */
static void format_name(const json_t *metric, const char *name, char *text, size_t text_bytes) {
        const char *usage = strstr(name, "_usage_"), *window = strrchr(name, '_');

        if (!usage || !json_is_number(json_at(metric, "windowSeconds", NULL))) {
                (void)snprintf(text, text_bytes, "%.40s", name);
                return;
        }
        const char *statistic = usage + strlen("_usage_");
        size_t len = strcspn(statistic, "_");
        (void)snprintf(text, text_bytes, "%.*s %.16s", (int)(usage - name), name, window + 1);
        for (size_t i = 0; text[i] > ' '; i++)
                text[i] = (char)toupper((unsigned char)text[i]);
        /* People expect a mean, so it needs no word. */
        size_t end = strlen(text);
        if (strncmp(statistic, "avg_", strlen("avg_")) != 0)
                (void)snprintf(text + end, text_bytes - end, " %.*s", (int)len, statistic);
}

static void set_title(struct top_column *column, const json_t *metric, bool is_ascii) {
        char name[TOP_TITLE_MAX / 2 + 8], limit[24] = "";

        format_name(metric, column->metric, name, sizeof(name));
        if (column->limit_ratio > 0)
                (void)snprintf(limit, sizeof(limit), " %s%.3g%%", is_ascii ? "<=" : "≤",
                               column->limit_ratio * 100);
        (void)snprintf(column->title, sizeof(column->title), "%s%s", name, limit);
}

static const json_t *pools(const struct top_view *view) {
        return json_at(view->page, "policy", "pools", NULL);
}

static double pool_limit(const struct top_view *view, size_t pool, const char *metric) {
        return number_at(json_at(json_array_get(pools(view), pool), "limits", NULL), metric, 0);
}

double top_view_limit(const struct top_view *view, const struct top_node *node,
                      const char *metric) {
        return pool_limit(view, node->pool, metric);
}

static void add_column(struct top_view *view, const json_t *metric, size_t place, bool is_ascii) {
        struct top_column *column = &view->columns[view->column_count++];

        column->metric = json_string_at(metric, "metric", NULL);
        column->place = place;
        column->limit_ratio = 0;
        /* The limit of the spec itself, or else of the first pool that has one. */
        for (size_t pool = 0; column->limit_ratio <= 0 && pool < json_array_size(pools(view));
             pool++)
                column->limit_ratio = pool_limit(view, pool, column->metric);
        set_title(column, metric, is_ascii);
}

/* ---- Nodes. */

static const json_t *metrics_of(const struct top_view *view) {
        return json_at(view->page, "policy", "metrics", NULL);
}

static double value_of(const json_t *reading) {
        if (json_is_at("usable", reading, "state", NULL))
                return number_at(reading, "value", TOP_MISSING);
        return json_is_at("expired", reading, "state", NULL)     ? TOP_EXPIRED
               : json_is_at("malformed", reading, "state", NULL) ? TOP_MALFORMED
                                                                 : TOP_MISSING;
}

static void look_at_metrics(const struct top_view *view, struct top_node *node, const json_t *row) {
        json_t *metrics = json_at(row, "metrics", NULL), *reading;
        const char *name;

        json_object_foreach (metrics, name, reading) {
                if (json_is_false(json_at(reading, "used", NULL)))
                        continue;
                node->used++;
                if (!json_is_at("usable", reading, "state", NULL))
                        continue;
                node->usable++;
                double age_s = number_at(reading, "ageSeconds", 0);
                if (age_s > node->age_s)
                        node->age_s = age_s;
                node->is_ahead |= age_s < -SKEW_S;
        }
        node->values = xcalloc(view->metric_count + 1, sizeof(*node->values));
        for (size_t i = 0; i < view->metric_count; i++) {
                name = json_string_at(json_array_get(metrics_of(view), i), "metric", NULL);
                node->values[i] = value_of(name ? json_object_get(metrics, name) : NULL);
        }
}

static double requested_of(const json_t *row) {
        double requested = number_at(json_at(row, "requested", NULL), "cpu", -1);
        double capacity = number_at(json_at(row, "capacity", NULL), "cpu", 0);

        return requested >= 0 && capacity > 0 ? requested / capacity : -1;
}

static char *copy_at(const json_t *row, const char *key) {
        const char *text = json_string_at(row, key, NULL);

        return text ? xstrdup(text) : NULL;
}

static void add_node(struct top_view *view, const json_t *text, const json_t *row) {
        struct top_node *node = &view->nodes[view->node_count++];

        *node = (struct top_node){
                .text = text,
                .name = copy_at(row, "node"),
                .score = number_at(row, "score", -1),
                .closed_by = copy_at(row, "closedBy"),
                .over = copy_at(row, "over"),
                .is_rejected = json_string_at(row, "rejectedBy", NULL) != NULL,
                .is_last = json_is_true(json_at(row, "last", NULL)),
                .hot = number_at(row, "hotValue", 0),
                .pods = number_at(row, "pods", -1),
                .requested_ratio = requested_of(row),
                .expected_ratio = number_at(json_at(row, "estimate", "cpu", NULL), "usage", -1),
                .age_s = -1,
                .pool = (size_t)json_int_at(0, row, "pool", NULL),
        };
        look_at_metrics(view, node, row);
        view->over += node->over && !node->closed_by;
        view->closed += node->closed_by != NULL;
        view->passing += !node->closed_by && !node->is_rejected;
        view->blind += node->used > 0 && node->usable == 0;
}

void top_view_init(struct top_view *view, const json_t *page, const json_t *names, const char *from,
                   bool has_all, bool is_ascii) {
        const json_t *rows = json_at(page, "nodes", NULL), *item;
        size_t i;

        *view = (struct top_view){
                .page = page,
                .from = from,
                .has_estimate = json_is_at("estimate", page, "policy", "scoring", NULL),
                .nodes = xcalloc(json_array_size(rows) + 1, sizeof(*view->nodes)),
        };
        view->metric_count = size_min(json_array_size(metrics_of(view)), TOP_COLUMNS_MAX);
        for (i = 0; i < view->metric_count; i++) {
                item = json_array_get(metrics_of(view), i);
                if (json_string_at(item, "metric", NULL) &&
                    (has_all || json_is_true(json_at(item, "used", NULL))))
                        add_column(view, item, i, is_ascii);
        }
        json_array_foreach (rows, i, item) {
                json_auto_t *row = NULL;
                int r = json_parse(json_string_value(item), json_string_length(item), &row, NULL);
                const char *name = r == 0 ? json_string_at(row, "node", NULL) : NULL;
                if (name && (!names || json_object_get(names, name)))
                        add_node(view, item, row);
        }
}

void top_view_done(struct top_view *view) {
        for (size_t i = 0; i < view->node_count; i++) {
                free(view->nodes[i].name);
                free(view->nodes[i].closed_by);
                free(view->nodes[i].over);
                free(view->nodes[i].values);
        }
        free(view->nodes);
        *view = (struct top_view){0};
}

/* ---- Order. */

static int compare_nodes(const void *a, const void *b) {
        const struct top_node *left = a, *right = b;

        if (left->key > right->key || left->key < right->key)
                return left->key > right->key ? -1 : 1;
        return strcmp(left->name, right->name);
}

/* The place of the policy's metric @key, or else of the first whose name begins with it; SIZE_MAX:
 * there is none. */
static size_t find_metric(const struct top_view *view, const char *key) {
        size_t first = SIZE_MAX;

        for (size_t i = 0; i < view->metric_count; i++) {
                const char *name = json_string_at(json_array_get(metrics_of(view), i), "metric",
                                                  NULL);
                if (!name || !*key || strncmp(name, key, strlen(key)) != 0)
                        continue;
                if (strcmp(name, key) == 0)
                        return i;
                first = first == SIZE_MAX ? i : first;
        }
        return first;
}

int top_view_sort(struct top_view *view, const char *key, struct error *err) {
        static const char *const own[] = {"name",      "score",    "recent", "pods",
                                          "requested", "expected", "age"};
        size_t kind = 0, metric = SIZE_MAX;

        while (kind < ARRAY_LEN(own) && strcmp(own[kind], key) != 0)
                kind++;
        if (kind == ARRAY_LEN(own))
                metric = find_metric(view, key);
        if (kind == ARRAY_LEN(own) && metric == SIZE_MAX)
                return error_set(err, EX_USAGE,
                                 "--sort-by: '%.64s': expected name, score, recent, pods, "
                                 "requested, expected, age, or a metric of the policy",
                                 key);
        for (size_t i = 0; i < view->node_count; i++) {
                struct top_node *node = &view->nodes[i];
                const double keys[] = {0,          node->score,           node->hot,
                                       node->pods, node->requested_ratio, node->expected_ratio,
                                       node->age_s};
                node->key = metric != SIZE_MAX ? node->values[metric] : keys[kind];
        }
        if (view->node_count > 1)
                qsort(view->nodes, view->node_count, sizeof(*view->nodes), compare_nodes);
        return 0;
}
