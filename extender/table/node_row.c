#include "extender/table/node_row.h"

#include <string.h>

#include "base/mem.h"
#include "extender/table/row_estimate.h"
#include "policy/annotation.h"
#include "policy/hot_value.h"
#include "policy/judge/judge_nodes.h"

struct node_row *node_row_new(const char *name, size_t len) {
        struct node_row *node = xcalloc(1, sizeof(*node));

        node->name = xmemdup0(name, len);
        node->facts.pods = -1;
        node->hot.expires_unix_ms = READING_NEVER;
        return node;
}

void node_row_free(struct node_row *node) {
        binding_ring_done(&node->bound);
        kept_texts_done(&node->annotations);
        kept_texts_done(&node->labels);
        free(node->closed_by);
        free(node->name);
        free(node);
}

/* ---- One annotation. */

static void read_annotation(const struct node_row *node, const struct row_context *context,
                            const char *key, int64_t period_ms, struct reading *ret) {
        node_annotation_read(kept_texts_get(&node->annotations, key), context->options.zone,
                             period_ms, ret);
}

static void read_metric(const struct node_row *node, const struct row_context *context,
                        size_t metric, struct reading *ret) {
        const struct policy_metric *of = &context->table_policy->policy->metrics[metric];

        read_annotation(node, context, of->name, of->period_ms, ret);
        if (context->options.is_percent)
                ret->value /= 100;
}

/* ---- The row. */

static int64_t earlier_if_ahead(int64_t until, int64_t candidate, int64_t now_unix_ms) {
        return candidate > now_unix_ms && candidate < until ? candidate : until;
}

/* The annotation may have come before its pods. */
static void measure_pods(struct node_row *node) {
        const char *text = kept_texts_get(&node->annotations, ANNOTATION_POD_USAGE);
        struct pod_usage_list list = {0};

        if (text)
                (void)!pod_usage_list_parse(text, strlen(text), &list, NULL);
        estimator_measure_pods(node->estimate, &list);
}

static void settle_facts(const struct node_row *node, const struct estimator_usage *usage,
                         struct node_facts *facts) {
        const struct node_estimate *estimate = estimator_node_estimate(node->estimate);

        facts->pods = (int32_t)(estimate->pod_count - estimate->gone_count);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                facts->requested.of[r] = node_estimate_requested(estimate, r);
                facts->usage_ratio[r] = usage->ratio[r];
                facts->is_known[r] = usage->is_known[r];
        }
}

static double reading_of(const struct node_columns *columns, const struct score_weights *weights,
                         size_t row, int resource) {
        int metric = weights->metric[resource];

        return node_columns_has_mean(columns, metric, row)
                       ? columns->readings.usage_ratio[metric][row]
                       : 0;
}

/* The own reading, and what the other table knows to be in flight. Return: its number there */
static uint32_t usage_like(const struct node_row *node, struct row_context *context,
                           struct estimator_usage *usage) {
        const struct score_weights *weights = &context->table_policy->weights[node->pool];
        const struct judge_nodes *like = &context->options.like->nodes;
        uint32_t row = like->columns.has_estimate && !context->options.has_no_pods
                               ? node_names_find(context->options.like->names, node->name,
                                                 strlen(node->name))
                               : NODE_ROW_NONE;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double capacity = node->facts.capacity.of[r];
                usage->per_capacity[r] = capacity > 0 ? 1 / capacity : 0;
                if (row == NODE_ROW_NONE || !like->columns.facts[row].is_known[r])
                        continue;
                double in_flight = like->columns.facts[row].usage_ratio[r] -
                                   reading_of(&like->columns,
                                              &like->weights[like->columns.readings.pool[row]], row,
                                              r);
                double ratio = reading_of(&context->columns, weights, node->row, r) + in_flight;
                usage->ratio[r] = ratio > 0 ? ratio : 0;
                usage->margin_ratio[r] = like->columns.margin_ratio[r][row];
                usage->is_known[r] = true;
        }
        return row == NODE_ROW_NONE ? ESTIMATOR_MAX_NODES : like->columns.estimate_number[row];
}

static void settle_estimate(struct node_row *node, struct row_context *context,
                            int64_t now_unix_ms) {
        struct estimator_usage usage = {0};
        uint32_t number = ESTIMATOR_MAX_NODES;

        if (node->estimate) {
                measure_pods(node);
                estimator_usage(context->estimator, node->estimate, &usage);
                number = estimator_node_number(node->estimate);
                settle_facts(node, &usage, &context->columns.facts[node->row]);
        } else if (context->options.like) {
                number = usage_like(node, context, &usage);
        }
        row_estimate_settle(&context->columns, node->row, context->table_policy->policy,
                            &context->table_policy->weights[node->pool], usage, now_unix_ms);
        context->columns.estimate_number[node->row] = number;
}

/* The newer one of the count and the annotation. Return: when it changes next */
static int64_t settle_hot(struct node_row *node, struct row_context *context, int64_t now_unix_ms) {
        const struct policy *policy = context->table_policy->policy;
        int64_t live_until_unix_ms = context->bindings_live_until_unix_ms;
        double *value = &context->columns.readings.hot[node->row];
        int64_t *expires_unix_ms = &context->columns.readings.hot_expires_unix_ms[node->row];
        bool is_counted = policy->hot_value_count > 0 && live_until_unix_ms != INT64_MIN;

        if (!is_counted || (node->hot.expires_unix_ms != READING_NEVER &&
                            node->hot.at_unix_ms > live_until_unix_ms)) {
                *value = node->hot.value;
                *expires_unix_ms = node->hot.expires_unix_ms;
                return *expires_unix_ms;
        }
        binding_ring_settle(&node->bound, now_unix_ms);
        *value = (double)hot_value(policy, &node->bound, now_unix_ms);
        *expires_unix_ms = INT64_MAX;
        return hot_value_next_change_unix_ms(policy, &node->bound, now_unix_ms);
}

void node_row_settle(struct node_row *node, struct row_context *context, int64_t now_unix_ms) {
        const struct table_policy *table_policy = context->table_policy;
        struct node_columns *columns = &context->columns;
        size_t row = node->row;

        int64_t until_unix_ms = earlier_if_ahead(INT64_MAX, settle_hot(node, context, now_unix_ms),
                                                 now_unix_ms);
        for (size_t i = 0; i < columns->metric_count; i++)
                until_unix_ms = earlier_if_ahead(
                        until_unix_ms, columns->readings.expires_unix_ms[i][row], now_unix_ms);
        columns->settled_until_unix_ms[row] = until_unix_ms;
        if (columns->has_estimate)
                settle_estimate(node, context, now_unix_ms);
        const struct node_verdict verdict = judge_nodes_verdict_of(
                columns, table_policy->policy, table_policy->weights, row, now_unix_ms);
        columns->limits[row] = verdict.limits;
        columns->score100[row] = (uint8_t)verdict.score100;
}

static void read_for_estimate(struct node_row *node, const struct row_context *context,
                              int64_t now_unix_ms) {
        const struct score_weights *weights = &context->table_policy->weights[node->pool];
        struct reading covered, mean;

        read_annotation(node, context, ANNOTATION_COVERED, 0, &covered);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                if (weights->metric[r] < 0) {
                        estimator_forget_reading(node->estimate, r);
                        continue;
                }
                read_metric(node, context, (size_t)weights->metric[r], &mean);
                const struct mean_reading reading = row_estimate_reading(
                        &mean, weights->window_ms[r], &covered, now_unix_ms);
                if (reading.window_ms > 0)
                        estimator_read(node->estimate, r, &reading);
        }
}

static void parse_metrics(struct node_row *node, struct row_context *context, int64_t now_unix_ms) {
        struct node_columns *columns = &context->columns;
        struct reading reading;

        memset(node->readings, 0, sizeof(node->readings));
        node->skewed = 0;
        columns->facts[node->row] = node->facts;
        for (size_t i = 0; i < columns->metric_count; i++) {
                read_metric(node, context, i, &reading);
                columns->readings.usage_ratio[i][node->row] = reading.value;
                columns->readings.expires_unix_ms[i][node->row] = reading.expires_unix_ms;
                if (reading.state == READING_MALFORMED)
                        columns->facts[node->row].malformed |= UINT64_C(1) << i;
                if (reading.state != READING_MISSING ||
                    !policy_is_of_others(context->table_policy->policy, node->pool, i))
                        node->readings[reading.state]++;
                node->skewed += reading.at_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS;
        }
}

void node_row_parse(struct node_row *node, struct row_context *context, int64_t now_unix_ms) {
        context->columns.zone[node->row] = node->zone;
        context->columns.readings.pool[node->row] = node->pool;
        parse_metrics(node, context, now_unix_ms);
        if (context->columns.has_estimate && node->estimate)
                read_for_estimate(node, context, now_unix_ms);
        read_annotation(node, context, ANNOTATION_HOT_VALUE, 0, &node->hot);
        node_row_settle(node, context, now_unix_ms);
}
