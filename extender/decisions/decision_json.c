/* Decisions in JSON, for people and programs. */
#include "base/json_write.h"
#include "extender/answer/answer.h"
#include "extender/decisions/decision.h"
#include "policy/policy.h"

/* ---- Members of an object. */

static void put_kept(struct buf *out, const char *key, const struct decision_texts *texts,
                     struct decision_text text) {
        json_write_text_len(out, key, texts->bytes + text.at, text.len);
}

static void put_number(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, SCORE_TERMS_DIGITS);
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

static void json_put_rejections(struct buf *out, const struct decision_filter *filter,
                                size_t max_nodes) {
        json_write_array(out, "rejectedNodes");
        for (size_t i = 0; i < filter->rejection_count && i < max_nodes; i++) {
                const struct decision_rejection *of = &filter->rejections[i];
                const struct decision_predicate *by = &filter->predicates[of->predicate];
                if (max_nodes > 1)
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

static void json_put_filter(struct buf *out, const struct decision_filter *filter,
                            size_t max_nodes) {
        json_write_object(out, "filter");
        put_call(out, &filter->call);
        json_write_int(out, "passed", decision_passed(filter));
        json_write_int(out, "rejected", filter->rejected);
        json_write_int(out, "leftOut", filter->left_out);
        json_write_text(out, "list", answer_list_names[filter->list]);
        json_write_bool(out, "daemonset", filter->is_daemonset);
        json_write_bool(out, "heldBack", filter->is_held_back);
        json_write_bool(out, "allOverLimits", filter->is_all_over);
        json_write_int(out, "rule", filter->rule);
        put_predicates(out, filter);
        json_put_rejections(out, filter, max_nodes);
        json_write_object_end(out);
}

/* ---- Prioritize. */

static void json_put_readings(struct buf *out, const struct decision_ranking *ranking,
                              const struct decision_readings *readings) {
        json_write_array(out, "priorities");
        for (size_t i = readings->begin; i < readings->end; i++) {
                const struct decision_priority *of = &ranking->priorities[i];
                json_write_object(out, NULL);
                put_kept(out, "metric", &ranking->texts, of->metric);
                score_terms_json_priority(&of->terms, &readings->of[i], ranking->call.at_unix_ms,
                                          out);
                json_write_object_end(out);
        }
        json_write_array_end(out);
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
        if (node->is_in_table && ranking->scoring == POLICY_SCORING_ESTIMATE) {
                json_write_object(out, "estimate");
                score_terms_json_estimate(&node->estimate, ranking->call.at_unix_ms, out);
                json_write_object_end(out);
        } else if (node->is_in_table) {
                json_put_readings(out, ranking, &node->readings);
        }
        json_write_object_end(out);
}

static void json_put_ranking(struct buf *out, const struct decision_ranking *ranking,
                             size_t max_nodes) {
        json_write_object(out, "prioritize");
        put_call(out, &ranking->call);
        json_write_text(out, "scoring", policy_scoring_names[ranking->scoring]);
        if (ranking->scoring == POLICY_SCORING_ESTIMATE) {
                json_write_object(out, "expected");
                score_terms_json_expected(&ranking->expectation,
                                          ranking->texts.bytes + ranking->workload.at,
                                          ranking->workload.len, out);
                json_write_object_end(out);
        }
        json_write_array(out, "bestNodes");
        for (size_t i = 0; i < ranking->node_count && i < max_nodes; i++) {
                if (max_nodes > 1)
                        json_write_line(out);
                json_put_node(out, ranking, &ranking->nodes[i]);
        }
        json_write_array_end(out);
        json_write_object_end(out);
}

/* ---- Decisions. */

void decision_json(const struct decision *decision, size_t max_nodes, struct buf *out) {
        json_put_pod(out, decision);
        json_write_int(out, "filterCalls", decision->filter_count);
        json_write_int(out, "prioritizeCalls", decision->ranking_count);
        if (decision->filter_count > 0)
                json_put_filter(out, &decision->filter, max_nodes);
        else
                json_write_null(out, "filter");
        if (decision->ranking_count > 0)
                json_put_ranking(out, &decision->ranking, max_nodes);
        else
                json_write_null(out, "prioritize");
        json_write_object_end(out);
}
