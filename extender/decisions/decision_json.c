#include "extender/decisions/decision_json.h"

#include <math.h>

#include "base/json_write.h"
#include "policy/policy.h"

/* ---- Members of an object. */

static void put_kept(struct buf *out, const char *key, const struct decision_texts *texts,
                     struct decision_text text) {
        json_write_text_len(out, key, texts->bytes + text.at, text.len);
}

static void put_kept_or_null(struct buf *out, const char *key, const struct decision_texts *texts,
                             struct decision_text text) {
        if (text.len > 0)
                put_kept(out, key, texts, text);
        else
                json_write_null(out, key);
}

/* A float has 7 digits. */
static void put_number(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, 7);
}

static void json_put_age(struct buf *out, int32_t age_ms) {
        if (age_ms == DECISION_NEVER_READ)
                json_write_null(out, "ageSeconds");
        else
                json_write_seconds(out, "ageSeconds", age_ms);
}

static void json_put_pod(struct buf *out, const struct decision *decision) {
        const struct decision_pod *pod = &decision->pod;
        const char *name = pod->full_name + pod->namespace_len + 1;

        json_write_object(out, NULL);
        json_write_text_len(out, "namespace", pod->full_name, pod->namespace_len);
        json_write_text(out, "name", name);
        json_write_text(out, "uid", pod->uid);
        json_write_time(out, "confirmedAt", decision->confirmed_unix_ms);
}

/* ---- Filter. */

static const char *const list_names[] = {
        [JUDGE_LIST_WHOLE] = "whole",
        [JUDGE_LIST_PREFERENCES] = "whole_preferences",
        [JUDGE_LIST_RETRY] = "whole_retry",
        [JUDGE_LIST_SHORT] = "short",
};

static void put_call(struct buf *out, const struct decision_call *call) {
        json_write_time(out, "at", call->at_unix_ms);
        json_write_int(out, "policyGeneration", (int64_t)call->policy_generation);
        json_write_int(out, "candidates", call->candidates);
        json_write_int(out, "unknown", call->unknown);
        json_write_int(out, "duplicates", call->duplicates);
}

static void put_predicates(struct buf *out, const struct decision_filter *filter) {
        json_write_array(out, "predicates");
        for (size_t i = 0; i < filter->predicate_count; i++) {
                const struct decision_predicate *of = &filter->predicates[i];
                json_write_object(out, NULL);
                put_kept(out, "metric", &filter->texts, of->metric);
                put_number(out, "limit", of->limit_ratio);
                json_write_int(out, "over", of->over_count);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

static void json_put_rejections(struct buf *out, const struct decision_filter *filter) {
        json_write_array(out, "rejectedNodes");
        for (size_t i = 0; i < filter->rejection_count; i++) {
                const struct decision_rejection *of = &filter->rejections[i];
                const struct decision_predicate *by = &filter->predicates[of->predicate];
                json_write_line(out);
                json_write_object(out, NULL);
                put_kept(out, "node", &filter->texts, of->node);
                put_kept(out, "metric", &filter->texts, by->metric);
                put_number(out, "value", of->value_ratio);
                put_number(out, "limit", by->limit_ratio);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

static void json_put_filter(struct buf *out, const struct decision_filter *filter) {
        json_write_object(out, "filter");
        put_call(out, &filter->call);
        json_write_int(out, "passed", decision_passed(filter));
        json_write_int(out, "rejected", filter->rejected);
        json_write_int(out, "leftOut", filter->left_out);
        json_write_text(out, "list", list_names[filter->list]);
        json_write_bool(out, "daemonset", filter->is_daemonset);
        json_write_bool(out, "allOverLimits", filter->is_all_over);
        json_write_int(out, "rule", filter->rule);
        put_predicates(out, filter);
        json_put_rejections(out, filter);
        json_write_object_end(out);
}

/* ---- Prioritize. */

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

/* What the pod is expected to use. */
static void json_put_expectation(struct buf *out, const struct decision_ranking *ranking) {
        const struct estimator_expectation *of = &ranking->expectation;

        json_write_object(out, "expected");
        put_kept_or_null(out, "workload", &ranking->texts, ranking->workload);
        json_write_bool(out, "measured", of->is_measured);
        put_number(out, "loadCores", of->load.of[ESTIMATE_CPU]);
        json_write_int(out, "loadBytes", (int64_t)of->load.of[ESTIMATE_MEM]);
        put_number(out, "clusterFactorCpu", of->factor.ratio[ESTIMATE_CPU]);
        put_number(out, "clusterFactorMem", of->factor.ratio[ESTIMATE_MEM]);
        json_write_object_end(out);
}

static void json_put_usage(struct buf *out, const char *key, const struct decision_split *usage) {
        if (usage->weight <= 0) {
                json_write_null(out, key);
                return;
        }
        json_write_object(out, key);
        put_number(out, "weight", usage->weight);
        put_number(out, "reading",
                   usage->age_ms == DECISION_NEVER_READ ? NAN : (double)usage->reading_ratio);
        json_put_age(out, usage->age_ms);
        put_number(out, "inFlight", usage->in_flight_ratio);
        put_number(out, "margin", usage->margin_ratio);
        put_number(out, "pod", usage->pod_ratio);
        put_number(out, "reserved", usage->reserved_ratio);
        put_number(out, "expected",
                   usage->reading_ratio + usage->in_flight_ratio + usage->margin_ratio +
                           usage->pod_ratio + usage->reserved_ratio);
        json_write_object_end(out);
}

static void json_put_estimate(struct buf *out, const struct decision_estimate *estimate) {
        json_write_object(out, "estimate");
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                json_put_usage(out, resource_names[r], &estimate->usage[r]);
        put_number(out, "other", estimate->other);
        put_number(out, "headroom", estimate->headroom);
        json_write_object_end(out);
}

static void json_put_readings(struct buf *out, const struct decision_ranking *ranking,
                              const struct decision_readings *readings) {
        json_write_array(out, "priorities");
        for (size_t i = readings->begin; i < readings->end; i++) {
                const struct decision_priority *of = &ranking->priorities[i];
                bool is_read = readings->age_ms[i] != DECISION_NEVER_READ;
                json_write_object(out, NULL);
                put_kept(out, "metric", &ranking->texts, of->metric);
                put_number(out, "weight", of->weight);
                put_number(out, "value", is_read ? (double)readings->usage_ratio[i] : NAN);
                json_put_age(out, readings->age_ms[i]);
                put_number(out, "full", of->full_ratio);
                put_number(out, "points", readings->points[i]);
                json_write_object_end(out);
        }
        json_write_array_end(out);
        if (readings->other_weight > 0)
                put_number(out, "otherWeight", readings->other_weight);
        put_number(out, "hotValue", readings->hot);
        json_write_int(out, "score100", readings->score100);
}

static void json_put_node(struct buf *out, const struct decision_ranking *ranking,
                          const struct decision_node *node) {
        json_write_object(out, NULL);
        put_kept(out, "node", &ranking->texts, node->name);
        json_write_int(out, "score", node->score);
        json_write_bool(out, "known", node->is_in_table);
        json_write_bool(out, "last", node->is_last);
        if (node->is_in_table && ranking->scoring == POLICY_SCORING_ESTIMATE)
                json_put_estimate(out, &node->estimate);
        else if (node->is_in_table)
                json_put_readings(out, ranking, &node->readings);
        json_write_object_end(out);
}

static void json_put_ranking(struct buf *out, const struct decision_ranking *ranking) {
        json_write_object(out, "prioritize");
        put_call(out, &ranking->call);
        json_write_text(out, "scoring", policy_scoring_names[ranking->scoring]);
        if (ranking->scoring == POLICY_SCORING_ESTIMATE)
                json_put_expectation(out, ranking);
        json_write_array(out, "bestNodes");
        for (size_t i = 0; i < ranking->node_count; i++) {
                json_write_line(out);
                json_put_node(out, ranking, &ranking->nodes[i]);
        }
        json_write_array_end(out);
        json_write_object_end(out);
}

/* ---- Decisions. */

void decision_json(const struct decision *decision, struct buf *out) {
        json_put_pod(out, decision);
        json_write_int(out, "filterCalls", decision->filter_count);
        json_write_int(out, "prioritizeCalls", decision->ranking_count);
        if (decision->filter_count > 0)
                json_put_filter(out, &decision->filter);
        else
                json_write_null(out, "filter");
        if (decision->ranking_count > 0)
                json_put_ranking(out, &decision->ranking);
        else
                json_write_null(out, "prioritize");
        json_write_object_end(out);
        buf_putc(out, '\n');
}

static void put_count_if(struct buf *out, const char *key, bool is_known, int64_t count) {
        if (is_known)
                json_write_int(out, key, count);
        else
                json_write_null(out, key);
}

void decision_json_line(const struct decision *decision, struct buf *out) {
        const struct decision_filter *filter = &decision->filter;
        const struct decision_ranking *ranking = &decision->ranking;
        const struct decision_node *best = decision_best(decision);
        bool has_filter = decision->filter_count > 0;

        json_put_pod(out, decision);
        json_write_time(out, "at", decision_at_unix_ms(decision));
        json_write_int(out, "filterCalls", decision->filter_count);
        json_write_int(out, "prioritizeCalls", decision->ranking_count);
        put_count_if(out, "candidates", has_filter, filter->call.candidates);
        put_count_if(out, "passed", has_filter, decision_passed(filter));
        put_count_if(out, "rejected", has_filter, filter->rejected);
        put_count_if(out, "leftOut", has_filter, filter->left_out);
        put_kept_or_null(out, "bestNode", &ranking->texts,
                         best ? best->name : (struct decision_text){0});
        put_count_if(out, "bestScore", best, best ? best->score : 0);
        json_write_object_end(out);
}
