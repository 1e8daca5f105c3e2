#include "extender/decisions/decision_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/timestamp.h"
#include "policy/policy.h"

/* ---- Members of an object. */

static void put_key(struct buf *out, const char *key) {
        bool is_first = out->data[out->len - 1] == '{';

        (void)buf_printf(out, "%s\"%s\":", is_first ? "" : ",", key);
}

static void put_null(struct buf *out, const char *key) {
        put_key(out, key);
        (void)buf_puts(out, "null");
}

static void put_text(struct buf *out, const char *key, const char *text, size_t len) {
        put_key(out, key);
        (void)buf_json_string(out, text, len);
}

static void put_text_or_null(struct buf *out, const char *key, const char *text, size_t len) {
        if (len > 0)
                put_text(out, key, text, len);
        else
                put_null(out, key);
}

static void put_integer(struct buf *out, const char *key, int64_t value) {
        put_key(out, key);
        (void)buf_printf(out, "%" PRId64, value);
}

static void put_count(struct buf *out, const char *key, uint64_t count) {
        put_key(out, key);
        (void)buf_printf(out, "%" PRIu64, count);
}

static void put_bool(struct buf *out, const char *key, bool value) {
        put_key(out, key);
        (void)buf_puts(out, value ? "true" : "false");
}

/* What is kept as float has 7 digits; JSON has no infinity. */
static void put_number(struct buf *out, const char *key, double value) {
        if (!number_is_finite(value)) {
                put_null(out, key);
                return;
        }
        put_key(out, key);
        (void)buf_printf(out, "%.7g", value);
}

static void put_time(struct buf *out, const char *key, int64_t at_unix_ms) {
        char text[TIMESTAMP_MAX];

        timestamp_format_ms(at_unix_ms, text, sizeof(text));
        put_text(out, key, text, strlen(text));
}

static void put_age(struct buf *out, int32_t age_ms) {
        if (age_ms == DECISION_NEVER_READ)
                put_null(out, "reading_age_ms");
        else
                put_integer(out, "reading_age_ms", age_ms);
}

static void put_pod(struct buf *out, const struct decision_pod *pod) {
        const char *name = pod->full_name + pod->namespace_len + 1;

        (void)buf_putc(out, '{');
        put_text(out, "namespace", pod->full_name, pod->namespace_len);
        put_text(out, "name", name, strlen(name));
        put_text(out, "uid", pod->uid, strlen(pod->uid));
}

/* ---- Filter. */

static const char *const list_names[] = {
        [JUDGE_LIST_WHOLE] = "whole",
        [JUDGE_LIST_PREFERENCES] = "whole_preferences",
        [JUDGE_LIST_RETRY] = "whole_retry",
        [JUDGE_LIST_SHORT] = "short",
};

static void put_filter_text(struct buf *out, const struct decision_filter *filter, const char *key,
                            struct decision_text text) {
        put_text(out, key, filter->text + text.at, text.len);
}

static void put_predicates(struct buf *out, const struct decision_filter *filter) {
        put_key(out, "predicates");
        (void)buf_putc(out, '[');
        for (size_t i = 0; i < filter->predicate_count; i++) {
                const struct decision_predicate *of = &filter->predicates[i];
                (void)buf_puts(out, i > 0 ? ",{" : "{");
                put_filter_text(out, filter, "metric", of->metric);
                put_number(out, "limit_ratio", of->limit_ratio);
                put_count(out, "over_limit", of->over_count);
                (void)buf_putc(out, '}');
        }
        (void)buf_putc(out, ']');
}

static void put_rejections(struct buf *out, const struct decision_filter *filter) {
        put_key(out, "rejected_nodes");
        (void)buf_putc(out, '[');
        for (size_t i = 0; i < filter->rejection_count; i++) {
                const struct decision_rejection *of = &filter->rejections[i];
                const struct decision_predicate *by = &filter->predicates[of->predicate];
                (void)buf_puts(out, i > 0 ? ",\n{" : "\n{");
                put_filter_text(out, filter, "node", of->node);
                put_filter_text(out, filter, "metric", by->metric);
                put_number(out, "value_ratio", of->value_ratio);
                put_number(out, "limit_ratio", by->limit_ratio);
                (void)buf_putc(out, '}');
        }
        (void)buf_putc(out, ']');
}

static void put_filter(struct buf *out, const struct decision_filter *filter) {
        (void)buf_putc(out, '{');
        put_time(out, "at", filter->at_unix_ms);
        put_count(out, "policy_generation", filter->policy_generation);
        put_count(out, "candidates", filter->candidates);
        put_count(out, "passed", filter->candidates - filter->rejected - filter->duplicates);
        put_count(out, "rejected", filter->rejected);
        put_count(out, "left_out", filter->left_out);
        put_count(out, "unknown", filter->unknown);
        put_count(out, "duplicates", filter->duplicates);
        put_text(out, "list", list_names[filter->list], strlen(list_names[filter->list]));
        put_bool(out, "daemonset", filter->is_daemonset);
        put_bool(out, "all_over_limits", filter->is_all_over);
        put_count(out, "rule", filter->rule);
        put_predicates(out, filter);
        put_rejections(out, filter);
        (void)buf_putc(out, '}');
}

/* ---- Prioritize. */

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

/* What the pod is expected to use. */
static void put_expectation(struct buf *out, const struct decision_ranking *ranking) {
        const struct estimator_expectation *of = &ranking->expectation;

        put_key(out, "expected");
        (void)buf_putc(out, '{');
        put_text_or_null(out, "workload", ranking->text + ranking->workload.at,
                         ranking->workload.len);
        put_number(out, "learned_cores", of->is_learned ? of->load.of[ESTIMATE_CPU] : NAN);
        put_number(out, "confidence_ratio", of->confidence);
        put_number(out, "load_cores", of->load.of[ESTIMATE_CPU]);
        put_integer(out, "load_bytes", (int64_t)of->load.of[ESTIMATE_MEM]);
        put_number(out, "cluster_factor_cpu_ratio", of->factor.ratio[ESTIMATE_CPU]);
        put_number(out, "cluster_factor_mem_ratio", of->factor.ratio[ESTIMATE_MEM]);
        (void)buf_putc(out, '}');
}

static void put_usage(struct buf *out, const char *key, float weight,
                      const struct decision_usage *usage) {
        if (weight <= 0) {
                put_null(out, key);
                return;
        }
        put_key(out, key);
        (void)buf_putc(out, '{');
        put_number(out, "weight", weight);
        put_number(out, "reading_ratio",
                   usage->age_ms == DECISION_NEVER_READ ? NAN : (double)usage->reading_ratio);
        put_age(out, usage->age_ms);
        put_number(out, "in_flight_ratio", usage->in_flight_ratio);
        put_number(out, "pod_twice_ratio", usage->pod_ratio);
        put_number(out, "reserved_ratio", usage->reserved_ratio);
        put_number(out, "usage_ratio",
                   usage->reading_ratio + usage->in_flight_ratio + usage->pod_ratio +
                           usage->reserved_ratio);
        (void)buf_putc(out, '}');
}

static void put_estimate(struct buf *out, const struct decision_ranking *ranking,
                         const struct decision_node *node) {
        const struct decision_estimate *estimate = &node->estimate;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                put_usage(out, resource_names[r], ranking->weights[node->pool][r],
                          &estimate->usage[r]);
        put_number(out, "other_weighted_ratio", estimate->other);
        put_number(out, "headroom_percent", estimate->headroom);
}

static void put_terms(struct buf *out, const struct decision_ranking *ranking,
                      const struct decision_node *node) {
        const struct decision_terms *terms = &node->terms;

        put_key(out, "terms");
        (void)buf_putc(out, '[');
        for (size_t i = terms->begin; i < terms->end; i++) {
                const struct decision_priority *of = &ranking->priorities[i];
                bool is_read = terms->age_ms[i] != DECISION_NEVER_READ;
                (void)buf_puts(out, i > terms->begin ? ",{" : "{");
                put_text(out, "metric", ranking->text + of->metric.at, of->metric.len);
                put_number(out, "weight", of->weight);
                put_number(out, "reading_ratio", is_read ? (double)terms->usage_ratio[i] : NAN);
                put_age(out, terms->age_ms[i]);
                put_number(out, "full_ratio", of->full_ratio);
                put_number(out, "points_of_100", terms->points[i]);
                (void)buf_putc(out, '}');
        }
        (void)buf_putc(out, ']');
        put_number(out, "hot_value", terms->hot);
        put_count(out, "score_of_100", terms->score100);
}

static void put_node(struct buf *out, const struct decision_ranking *ranking,
                     const struct decision_node *node) {
        (void)buf_putc(out, '{');
        put_text(out, "node", ranking->text + node->name.at, node->name.len);
        put_integer(out, "score", node->points - ranking->base);
        put_integer(out, "points", node->points);
        put_bool(out, "known", node->is_in_table);
        put_bool(out, "last", node->is_last);
        if (node->is_in_table && ranking->scoring == POLICY_SCORING_ESTIMATE)
                put_estimate(out, ranking, node);
        else if (node->is_in_table)
                put_terms(out, ranking, node);
        (void)buf_putc(out, '}');
}

static void put_ranking(struct buf *out, const struct decision_ranking *ranking) {
        const char *scoring = policy_scoring_names[ranking->scoring];

        (void)buf_putc(out, '{');
        put_time(out, "at", ranking->at_unix_ms);
        put_count(out, "policy_generation", ranking->policy_generation);
        put_count(out, "candidates", ranking->candidates);
        put_count(out, "unknown", ranking->unknown);
        put_count(out, "duplicates", ranking->duplicates);
        put_text(out, "scoring", scoring, strlen(scoring));
        if (ranking->scoring == POLICY_SCORING_ESTIMATE)
                put_expectation(out, ranking);
        put_key(out, "best_nodes");
        (void)buf_putc(out, '[');
        for (size_t i = 0; i < ranking->node_count; i++) {
                (void)buf_puts(out, i > 0 ? ",\n" : "\n");
                put_node(out, ranking, &ranking->nodes[i]);
        }
        (void)buf_puts(out, "]}");
}

/* ---- Decisions. */

void decision_json(const struct decision *decision, struct buf *out) {
        put_pod(out, &decision->pod);
        put_count(out, "filter_calls", decision->filter_count);
        put_count(out, "prioritize_calls", decision->ranking_count);
        if (decision->filter_count > 0) {
                put_key(out, "filter");
                put_filter(out, &decision->filter);
        } else {
                put_null(out, "filter");
        }
        if (decision->ranking_count > 0) {
                put_key(out, "prioritize");
                put_ranking(out, &decision->ranking);
        } else {
                put_null(out, "prioritize");
        }
        (void)buf_puts(out, "}\n");
}

static void put_count_if(struct buf *out, const char *key, bool is_known, uint32_t count) {
        if (is_known)
                put_count(out, key, count);
        else
                put_null(out, key);
}

static void put_line(struct buf *out, const struct decisions_line *line) {
        put_pod(out, &line->pod);
        put_time(out, "at", line->at_unix_ms);
        put_count(out, "filter_calls", line->filter_count);
        put_count(out, "prioritize_calls", line->ranking_count);
        put_count_if(out, "candidates", line->has_filter, line->candidates);
        put_count_if(out, "passed", line->has_filter, line->passed);
        put_count_if(out, "rejected", line->has_filter, line->rejected);
        put_count_if(out, "left_out", line->has_filter, line->left_out);
        put_text_or_null(out, "best_node", line->best_node, line->best_node_len);
        put_count_if(out, "best_score", line->best_points >= 0, (uint32_t)line->best_points);
        (void)buf_putc(out, '}');
}

void decision_json_list(const struct decisions_line *lines, size_t count, struct buf *out) {
        (void)buf_puts(out, "{\"decisions\":[");
        for (size_t i = 0; i < count; i++) {
                (void)buf_puts(out, i > 0 ? ",\n" : "\n");
                put_line(out, &lines[i]);
        }
        (void)buf_puts(out, "]}\n");
}
