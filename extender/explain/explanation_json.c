#include <math.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "extender/explain/explanation.h"
#include "extender/table/node_annotation.h"
#include "policy/judge/usage_split.h"

enum { DIGITS = 7 };

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

static void put(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, DIGITS);
}

static void put_if(struct buf *out, const char *key, bool is_known, double value) {
        put(out, key, is_known ? value : NAN);
}

/* ---- The document. */

static void put_metrics(const struct policy *policy, struct buf *out) {
        json_write_array(out, "metrics");
        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                json_write_object(out, NULL);
                json_write_text(out, "metric", metric->name);
                json_write_bool(out, "used", policy_uses(policy, i));
                json_write_seconds(out, "periodSeconds", metric->period_ms);
                put_if(out, "windowSeconds", metric->is_query,
                       (double)metric->query.window_ms / MS_PER_S);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

static void put_pools(const struct explanation *explanation, struct buf *out) {
        const struct policy *policy = explanation->policy;

        json_write_array(out, "pools"); /* the first is of nodes without a pool */
        for (size_t pool = 0; pool <= policy->pool_count; pool++) {
                double target_ratio =
                        explanation->has_estimate
                                ? explanation->nodes->weights[pool].target_ratio[ESTIMATE_CPU]
                                : 0;
                json_write_object(out, NULL);
                json_write_object(out, "limits");
                for (size_t i = 0; i < policy->metric_count; i++) {
                        double limit_ratio = policy_limit_ratio(policy, pool, i);
                        if (limit_ratio > 0)
                                put(out, policy->metrics[i].name, limit_ratio);
                }
                json_write_object_end(out);
                put_if(out, "cpuTarget", target_ratio > 0, target_ratio);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

void explanation_json_begin(const struct explanation *explanation, struct buf *out) {
        const struct policy *policy = explanation->policy;

        json_write_object(out, NULL);
        json_write_time(out, "at", explanation->now_unix_ms);
        json_write_int(out, "version", EXPLANATION_VERSION);
        json_write_object(out, "policy");
        json_write_text(out, "name", policy->name);
        json_write_int(out, "generation", (int64_t)explanation->snapshot->table_policy->generation);
        json_write_text(out, "scoring", policy_scoring_names[policy->scoring]);
        put_metrics(policy, out);
        put_pools(explanation, out);
        json_write_array(out, "warnings");
        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                json_write_text(out, NULL, policy->warnings[i]);
        json_write_array_end(out);
        json_write_object_end(out);
}

void explanation_json_pod(const struct explanation *explanation, struct buf *out) {
        const struct estimator_expectation *expected = &explanation->expectation;
        const struct judge_question *question = &explanation->judge.question;
        const struct pod_facts *pod = explanation->pod;

        if (question->rule)
                json_write_int(out, "rule", question->rule - explanation->policy->rules + 1);
        else
                json_write_null(out, "rule");
        json_write_bool(out, "exempt", question->is_exempt);
        if (!explanation->has_estimate) {
                json_write_null(out, "expected");
                return;
        }
        json_write_object(out, "expected");
        json_write_bool(out, "measured", expected->is_measured);
        if (pod && pod->workload_len > 0)
                json_write_text_len(out, "workload", pod->workload, pod->workload_len);
        else
                json_write_null(out, "workload");
        put(out, "loadCores", expected->load.of[ESTIMATE_CPU]);
        put(out, "loadBytes", expected->load.of[ESTIMATE_MEM]);
        put(out, "clusterFactorCpu", expected->factor.ratio[ESTIMATE_CPU]);
        put(out, "clusterFactorMem", expected->factor.ratio[ESTIMATE_MEM]);
        json_write_object_end(out);
}

/* ---- A node. */

static void put_reading(const struct explanation *explanation, size_t row, size_t metric,
                        struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        enum reading_state state = explanation_reading(explanation, row, metric);
        int64_t expires_unix_ms = columns->expires_unix_ms[metric][row];

        json_write_text(out, "state", node_reading_state_name(state));
        if (state == READING_MISSING || state == READING_MALFORMED)
                return;
        int64_t at_unix_ms = annotation_at_unix_ms(expires_unix_ms,
                                                   explanation->policy->metrics[metric].period_ms);
        put(out, "value", columns->usage_ratio[metric][row]);
        json_write_time(out, "at", at_unix_ms);
        json_write_time(out, "expires", expires_unix_ms);
        json_write_seconds(out, "ageSeconds", explanation->now_unix_ms - at_unix_ms);
        if (state == READING_EXPIRED)
                json_write_seconds(out, "expiredSeconds",
                                   explanation->now_unix_ms - expires_unix_ms);
}

static void put_predicates(const struct explanation *explanation, size_t row,
                           struct policy_range range, struct buf *out) {
        const struct policy *policy = explanation->policy;

        for (size_t i = range.begin; i < range.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                size_t metric = predicate->metric;
                bool is_last = predicate->over_limit == POLICY_OVER_LIMIT_LAST;
                bool is_over = explanation_reading(explanation, row, metric) == READING_USABLE &&
                               predicate->limit_ratio > 0 &&
                               explanation->nodes->columns.usage_ratio[metric][row] >
                                       predicate->limit_ratio;
                json_write_object(out, NULL);
                json_write_text(out, "metric", policy->metrics[metric].name);
                put(out, "limit", predicate->limit_ratio);
                json_write_bool(out, "rejects",
                                is_over && !is_last && explanation->rejected_by[row] >= 0);
                json_write_bool(out, "putsLast",
                                is_over && is_last && explanation_last_by(explanation, row) >= 0);
                put_reading(explanation, row, metric, out);
                json_write_object_end(out);
        }
}

/* @weights: the sum over all priorities of the node */
static void put_priority(const struct explanation *explanation, size_t row, size_t i,
                         double weights, struct buf *out) {
        const struct policy *policy = explanation->policy;
        const struct policy_priority *priority = &policy->priorities[i];
        const struct verdict_largest *largest = &explanation->judge.scored.largest;
        bool is_relative = priority->scale == POLICY_SCALE_RELATIVE;
        double value = explanation->nodes->columns.usage_ratio[priority->metric][row];
        bool is_usable = explanation_reading(explanation, row, priority->metric) == READING_USABLE;
        double worth = is_usable ? verdict_worth(policy, i, value, largest) : 0;

        json_write_object(out, NULL);
        json_write_text(out, "metric", policy->metrics[priority->metric].name);
        put(out, "weight", priority->weight);
        json_write_text(out, "scale", is_relative ? "relative" : "absolute");
        put(out, "full", verdict_full_ratio(policy, i, value, largest));
        if (priority->target_ratio > 0)
                put(out, "target", priority->target_ratio);
        put(out, "points", worth * priority->weight * 100 / weights);
        put_reading(explanation, row, priority->metric, out);
        json_write_object_end(out);
}

static void put_usage(const struct explanation *explanation, size_t row, int resource,
                      struct buf *out) {
        const struct node_facts *facts = &explanation->nodes->columns.facts[row];
        double reserved = explanation_reserved(explanation, row, resource);
        struct usage_split usage;

        if (!usage_split_get(explanation->nodes, row, resource, &explanation->expectation.load,
                             &usage))
                return;
        json_write_object(out, resource_names[resource]);
        put(out, "weight", usage.weight);
        put(out, "capacity", facts->capacity.of[resource]);
        put_if(out, "requested", facts->pods >= 0, facts->requested.of[resource]);
        put_if(out, "reading", usage.is_read, usage.reading_ratio);
        if (usage.is_read)
                json_write_seconds(out, "ageSeconds",
                                   explanation->now_unix_ms - usage.read_unix_ms);
        put(out, "inFlight", usage.in_flight_ratio);
        put(out, "margin", usage.margin_ratio);
        put(out, "pod", usage.pod_ratio);
        put(out, "reserved", reserved);
        put(out, "expected", usage.expected_ratio + reserved);
        json_write_object_end(out);
}

static void put_estimate(const struct explanation *explanation, size_t row, bool has_terms,
                         struct buf *out) {
        size_t candidate = explanation->candidates[row];

        json_write_object(out, "estimate");
        for (int r = 0; has_terms && r < ESTIMATE_RESOURCE_COUNT; r++)
                put_usage(explanation, row, r, out);
        put(out, "other", explanation->nodes->columns.other[row]);
        put(out, "headroom",
            candidate == SIZE_MAX ? NAN : explanation->judge.scored.headrooms[candidate]);
        json_write_object_end(out);
}

static void put_metric_of(const struct explanation *explanation, const char *key, int predicate,
                          struct buf *out) {
        const struct policy *policy = explanation->policy;

        json_write_text(out, key,
                        predicate < 0 ? NULL
                                      : policy->metrics[policy->predicates[predicate].metric].name);
}

void explanation_json_over(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct verdict_limits limits =
                judge_nodes_verdict_slow(explanation->nodes, row, explanation->now_unix_ms).limits;
        int over = verdict_over(limits);

        json_write_text(out, "over",
                        over < 0 ? NULL : explanation->policy->predicates[over].reason);
        json_write_bool(out, "last", limits.last_by >= 0 && explanation->judge.scored.has_last);
}

static void put_verdict(const struct explanation *explanation, size_t row, struct buf *out) {
        int score = explanation_score(explanation, row);
        int by = explanation->rejected_by[row], last = explanation_last_by(explanation, row),
            why = by >= 0 ? by : last;

        json_write_text(out, "closedBy", explanation->closed_by[row]);
        explanation_json_over(explanation, row, out);
        put_metric_of(explanation, "rejectedBy", by, out);
        put_metric_of(explanation, "lastBy", last, out);
        json_write_text(out, "reason",
                        why < 0 ? NULL : explanation->policy->predicates[why].reason);
        /* A closed or rejected node has no score: the scheduler does not ask about it. */
        put_if(out, "score", score >= 0, score);
        json_write_int(out, "score100", judge_score100(&explanation->judge, (uint32_t)row));
}

static void put_terms(const struct explanation *explanation, size_t row, size_t pool,
                      struct buf *out) {
        const struct policy *policy = explanation->policy;
        const struct policy_rule *rule = explanation->judge.question.rule;
        struct policy_range priorities = policy_pool_priorities(policy, pool);
        double weights = 0;

        json_write_array(out, "predicates");
        put_predicates(explanation, row, policy_pool_predicates(policy, pool), out);
        if (rule)
                put_predicates(explanation, row, rule->limits, out);
        json_write_array_end(out);
        for (size_t i = priorities.begin; i < priorities.end; i++)
                weights += policy->priorities[i].weight;
        json_write_array(out, "priorities");
        for (size_t i = priorities.begin; i < priorities.end; i++)
                put_priority(explanation, row, i, weights, out);
        json_write_array_end(out);
}

static void put_all_terms(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        bool is_hot = explanation->now_unix_ms < columns->hot_expires_unix_ms[row];

        json_write_int(out, "pool", columns->pool[row]);
        put_terms(explanation, row, columns->pool[row], out);
        put(out, "hotValue", is_hot ? columns->hot[row] : 0);
        if (explanation->policy->level_count > 0) {
                json_write_int(out, "taintLevel", columns->facts[row].taint_level);
                json_write_int(out, "taintLevels", (int64_t)explanation->policy->level_count);
        }
}

void explanation_json_node(const struct explanation *explanation, size_t row, bool has_terms,
                           struct buf *out) {
        const struct node_name *name = node_names_at(explanation->snapshot->names, (uint32_t)row);

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text_len(out, "node", name->name, name->name_bytes);
        put_verdict(explanation, row, out);
        if (has_terms)
                put_all_terms(explanation, row, out);
        if (explanation->has_estimate)
                put_estimate(explanation, row, has_terms, out);
        json_write_object_end(out);
}
