#include "cli/top/top_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/annotation.h"

/* "CPU 1h max" for cpu_usage_max_avg_1h. A name without statistic and window does not change. */
static void format_name(const struct policy_metric *metric, char *text, size_t text_bytes) {
        const char *usage = strstr(metric->name, "_usage_"), *window = strrchr(metric->name, '_');

        if (!metric->is_query) {
                (void)snprintf(text, text_bytes, "%.40s", metric->name);
                return;
        }
        const char *statistic = usage + strlen("_usage_");
        size_t len = (size_t)(usage - metric->name);
        (void)snprintf(text, text_bytes, "%.*s %s", (int)len, metric->name, window + 1);
        for (size_t i = 0; text[i] > ' '; i++)
                text[i] = (char)toupper((unsigned char)text[i]);
        /* People expect a mean, so it needs no word. */
        size_t end = strlen(text);
        if (metric->query.statistic != METRIC_AVG)
                (void)snprintf(text + end, text_bytes - end, " %.*s", (int)strcspn(statistic, "_"),
                               statistic);
}

static void set_title(struct top_column *column, const struct policy *policy, bool is_ascii) {
        char name[TOP_TITLE_MAX / 2 + 8], limit[24] = "";

        format_name(&policy->metrics[column->metric], name, sizeof(name));
        if (column->limit_ratio > 0)
                (void)snprintf(limit, sizeof(limit), " %s%.3g%%", is_ascii ? "<=" : "≤",
                               column->limit_ratio * 100);
        (void)snprintf(column->title, sizeof(column->title), "%s%s", name, limit);
}

/* The limit of the spec itself, or else of the first pool that has one. */
static double shown_limit_ratio(const struct policy *policy, size_t metric) {
        double limit_ratio = 0;

        for (size_t pool = 0; limit_ratio == 0 && pool <= policy->pool_count; pool++)
                limit_ratio = policy_limit_ratio(policy, pool, metric);
        return limit_ratio;
}

/* Only the limits of nodes: without a pod, no rule applies. */
static void view_judge(struct top_view *view, struct top_node *node) {
        const struct explanation *explanation = view->explanation;
        const struct verdict_limits limits = judge_nodes_verdict_slow(&explanation->snapshot->nodes,
                                                                      node->row,
                                                                      explanation->now_unix_ms)
                                                     .limits;

        node->is_last = limits.last_by >= 0 && explanation->judge.scored.has_last;
        node->over = verdict_over(limits);
        view->over += node->over >= 0;
        view->closed += node->closed_by != NULL;
        view->passing += !node->closed_by && node->rejected_by < 0;
}

static double find_expected(const struct explanation *explanation, size_t row) {
        const struct estimator *estimator = explanation->snapshot->estimator;
        const struct estimator_node *node =
                explanation_has_estimate(explanation) && !explanation->why_unscored
                        ? estimator_node_at(
                                  estimator,
                                  explanation->snapshot->nodes.columns.estimate_number[row])
                        : NULL;
        struct estimator_usage usage;

        if (!node)
                return -1;
        estimator_usage(estimator, node, &usage);
        return usage.ratio[ESTIMATE_CPU];
}

static void view_look(struct top_view *view, struct top_node *node) {
        const struct explanation *explanation = view->explanation;
        struct reading reading;

        for (size_t i = 0; i < explanation->policy->metric_count; i++) {
                if (!policy_pool_uses(explanation->policy,
                                      node_table_pool(explanation->table, node->row), i))
                        continue;
                node->used++;
                node_table_reading(explanation->table, node->row, i, explanation->now_unix_ms,
                                   &reading);
                if (reading.state != READING_USABLE)
                        continue;
                node->usable++;
                int64_t age_ms = explanation->now_unix_ms - reading.at_unix_ms;
                if (age_ms > node->age_ms)
                        node->age_ms = age_ms;
                node->is_ahead |= age_ms < -ANNOTATION_SKEW_MS;
        }
        node_table_hot_reading(explanation->table, node->row, explanation->now_unix_ms, &reading);
        node->hot = reading.state == READING_USABLE ? reading.value : 0;
        view->blind += node->used > 0 && node->usable == 0;
}

void top_view_init(struct top_view *view, const struct explanation *explanation,
                   const struct listed_nodes *listed, const char *policy_from, bool has_all,
                   bool is_ascii) {
        const struct policy *policy = explanation->policy;

        *view = (struct top_view){.explanation = explanation, .policy_from = policy_from};
        for (size_t i = 0; i < policy->metric_count; i++) {
                if (!policy_uses(policy, i) && !has_all)
                        continue;
                struct top_column *column = &view->columns[view->column_count++];
                *column = (struct top_column){
                        .metric = i,
                        .limit_ratio = shown_limit_ratio(policy, i),
                };
                set_title(column, policy, is_ascii);
        }
        view->node_count = node_table_count(explanation->table);
        view->nodes = xcalloc(view->node_count, sizeof(*view->nodes));
        for (size_t row = 0; row < view->node_count; row++) {
                struct top_node *node = &view->nodes[row];
                const struct listed_node *on =
                        listed ? listed_nodes_get(listed, node_table_name(explanation->table, row))
                               : NULL;
                *node = (struct top_node){
                        .row = row,
                        .name = node_table_name(explanation->table, row),
                        .score10 = explanation_score(explanation, row),
                        .closed_by = explanation->closed_by[row],
                        .rejected_by = explanation->rejected_by[row],
                        .age_ms = -1,
                        .pods = on ? on->pods : -1,
                        .requested_ratio = on ? on->requested_ratio[ESTIMATE_CPU] : -1,
                        .expected_ratio = find_expected(explanation, row),
                };
                view_judge(view, node);
                view_look(view, node);
        }
}

void top_view_done(struct top_view *view) {
        free(view->nodes);
        *view = (struct top_view){0};
}

/* ---- Order. */

static int compare_nodes(const void *a, const void *b) {
        const struct top_node *left = a, *right = b;

        if (left->key != right->key)
                return left->key > right->key ? -1 : 1;
        return strcmp(left->name, right->name);
}

static double usage_key(const struct top_view *view, const struct top_node *node, size_t metric) {
        const struct explanation *explanation = view->explanation;
        struct reading reading;

        node_table_reading(explanation->table, node->row, metric, explanation->now_unix_ms,
                           &reading);
        return reading.state == READING_USABLE ? reading.value : -1;
}

/* The index of the policy's first metric whose name is @key or begins with it; -1: none. */
static int find_metric(const struct policy *policy, const char *key) {
        int exact = policy_metric_index(policy, key);

        for (size_t i = 0; exact < 0 && *key && i < policy->metric_count; i++)
                if (strncmp(policy->metrics[i].name, key, strlen(key)) == 0)
                        exact = (int)i;
        return exact;
}

static int refuse_key(const struct policy *policy, const char *key, struct error *err) {
        _cleanup_(buf_done) struct buf metrics = BUF_INIT(8192);

        for (size_t i = 0; i < policy->metric_count; i++)
                buf_printf(&metrics, ", %s", policy->metrics[i].name);
        return error_set(
                err, EINVAL,
                "--sort-by: '%.64s': expected name, score, recent, pods, requested, expected, "
                "age, or a metric of the policy%s%s",
                key, metrics.len > 0 ? ": " : "",
                metrics.len > 0 ? metrics.data + strlen(", ") : "");
}

int top_view_sort(struct top_view *view, const char *key, struct error *err) {
        static const char *const own[] = {"name",      "score",    "recent", "pods",
                                          "requested", "expected", "age"};
        int metric = -1;
        size_t kind = 0;

        while (kind < ARRAY_LEN(own) && strcmp(own[kind], key) != 0)
                kind++;
        if (kind == ARRAY_LEN(own))
                metric = find_metric(view->explanation->policy, key);
        if (kind == ARRAY_LEN(own) && metric < 0)
                return refuse_key(view->explanation->policy, key, err);
        for (size_t i = 0; i < view->node_count; i++) {
                struct top_node *node = &view->nodes[i];
                node->key = metric >= 0 ? usage_key(view, node, (size_t)metric)
                            : kind == 1 ? node->score10
                            : kind == 2 ? node->hot
                            : kind == 3 ? (double)node->pods
                            : kind == 4 ? node->requested_ratio
                            : kind == 5 ? node->expected_ratio
                            : kind == 6 ? (double)node->age_ms
                                        : 0;
        }
        qsort(view->nodes, view->node_count, sizeof(*view->nodes), compare_nodes);
        return 0;
}
