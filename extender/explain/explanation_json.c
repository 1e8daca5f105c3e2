#include <math.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "extender/explain/explanation.h"
#include "extender/explain/score_terms.h"
#include "policy/rebalance/rebalance_line.h"

static void put(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, SCORE_TERMS_DIGITS);
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
                json_write_object(out, NULL);
                json_write_object(out, "limits");
                for (size_t i = 0; i < policy->metric_count; i++) {
                        double limit_ratio = policy_limit_ratio(policy, pool, i);
                        if (limit_ratio > 0)
                                put(out, policy->metrics[i].name, limit_ratio);
                }
                json_write_object_end(out);
                put(out, "hotLine",
                    rebalance_line_hot(policy, pool, &explanation->nodes->weights[pool]));
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

static void put_policy(const struct explanation *explanation, struct buf *out) {
        const struct policy *policy = explanation->policy;

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

/* Its rule, and what it is expected to use. */
static void put_pod(const struct explanation *explanation, struct buf *out) {
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
        score_terms_json_expected(&explanation->expectation, pod ? pod->workload : NULL,
                                  pod ? pod->workload_len : 0, out);
        json_write_object_end(out);
}

static void put_pods(const struct explanation *explanation, struct buf *out) {
        if (!explanation->has_estimate)
                return;
        const struct estimator_pods pods = estimator_pods(explanation->snapshot->estimator);
        json_write_object(out, "pods");
        json_write_int(out, "bound", (int64_t)pods.bound);
        json_write_int(out, "measured", (int64_t)pods.measured);
        json_write_object_end(out);
}

void explanation_json_begin(const struct explanation *explanation, struct buf *out) {
        json_write_object(out, NULL);
        json_write_time(out, "at", explanation->now_unix_ms);
        json_write_int(out, "version", EXPLANATION_VERSION);
        put_policy(explanation, out);
        put_pod(explanation, out);
        put_pods(explanation, out);
        json_write_array(out, "nodes");
}

void explanation_json_end(struct buf *out) {
        json_write_array_end(out);
        json_write_object_end(out);
        buf_putc(out, '\n');
}

/* ---- A node. */

static void put_predicates(const struct explanation *explanation, size_t row,
                           struct policy_range range, struct buf *out) {
        const struct policy *policy = explanation->policy;

        for (size_t i = range.begin; i < range.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                const struct policy_metric *metric = &policy->metrics[predicate->metric];
                const struct score_terms_reading reading = score_terms_reading(
                        explanation->nodes, row, predicate->metric, explanation->now_unix_ms);
                bool is_last = predicate->over_limit == POLICY_OVER_LIMIT_LAST;
                bool is_over = reading.state == READING_USABLE && predicate->limit_ratio > 0 &&
                               reading.value_ratio > predicate->limit_ratio;
                json_write_object(out, NULL);
                json_write_text(out, "metric", metric->name);
                put(out, "limit", predicate->limit_ratio);
                json_write_bool(out, "rejects",
                                is_over && !is_last && explanation->rejected_by[row] >= 0);
                json_write_bool(out, "putsLast",
                                is_over && is_last && explanation_last_by(explanation, row) >= 0);
                score_terms_json_reading(&reading, metric->period_ms, explanation->now_unix_ms,
                                         out);
                json_write_object_end(out);
        }
}

static void put_priority(const struct explanation *explanation, size_t row, size_t i,
                         struct buf *out) {
        const struct judge *judge = &explanation->judge;
        const struct score_terms_points points = score_terms_points(judge, row, i);
        const struct score_terms_priority priority = score_terms_priority(
                judge, i, points.reading.value_ratio);
        const struct policy *policy = explanation->policy;

        json_write_object(out, NULL);
        json_write_text(out, "metric", policy->metrics[policy->priorities[i].metric].name);
        score_terms_json_priority(&priority, &points, explanation->now_unix_ms, out);
        json_write_object_end(out);
}

static void put_estimate(const struct explanation *explanation, size_t row, bool has_terms,
                         struct buf *out) {
        const struct judge *judge = &explanation->judge;
        size_t candidate = explanation->candidates[row];
        double headroom = candidate == SIZE_MAX ? NAN : judge->scored.headrooms[candidate];
        struct score_terms_estimate estimate;

        json_write_object(out, "estimate");
        if (has_terms) {
                score_terms_estimate(judge, row, headroom, &estimate);
                score_terms_json_estimate(&estimate, explanation->now_unix_ms, out);
        } else {
                put(out, "headroom", headroom);
        }
        json_write_object_end(out);
}

static void put_metric_of(const struct explanation *explanation, const char *key, int predicate,
                          struct buf *out) {
        const struct policy *policy = explanation->policy;

        json_write_text(out, key,
                        predicate < 0 ? NULL
                                      : policy->metrics[policy->predicates[predicate].metric].name);
}

static void put_over(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct verdict_limits limits =
                judge_nodes_verdict_slow(explanation->nodes, row, explanation->now_unix_ms).limits;
        int over = verdict_over(limits);

        json_write_text(out, "over",
                        over < 0 ? NULL : explanation->policy->predicates[over].reason);
        json_write_bool(out, "last", limits.last_by >= 0 && explanation->judge.scored.has_last);
}

void explanation_json_node_begin(const struct explanation *explanation, size_t row,
                                 struct buf *out) {
        const struct node_name *name = node_names_at(explanation->snapshot->names, (uint32_t)row);
        int score = explanation_score(explanation, row);
        int by = explanation->rejected_by[row], last = explanation_last_by(explanation, row),
            why = by >= 0 ? by : last;

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text_len(out, "node", name->name, name->name_bytes);
        json_write_text(out, "closedBy", explanation->closed_by[row]);
        put_over(explanation, row, out);
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

        json_write_array(out, "predicates");
        put_predicates(explanation, row, policy_pool_predicates(policy, pool), out);
        if (rule)
                put_predicates(explanation, row, rule->limits, out);
        json_write_array_end(out);
        json_write_array(out, "priorities");
        for (size_t i = priorities.begin; i < priorities.end; i++)
                put_priority(explanation, row, i, out);
        json_write_array_end(out);
}

static void put_all_terms(const struct explanation *explanation, size_t row, struct buf *out) {
        const struct node_columns *columns = &explanation->nodes->columns;
        bool is_hot = explanation->now_unix_ms < columns->readings.hot_expires_unix_ms[row];

        json_write_int(out, "pool", columns->readings.pool[row]);
        put_terms(explanation, row, columns->readings.pool[row], out);
        put(out, "hotValue", is_hot ? columns->readings.hot[row] : 0);
        if (explanation->policy->level_count > 0) {
                json_write_int(out, "taintLevel", columns->facts[row].taint_level);
                json_write_int(out, "taintLevels", (int64_t)explanation->policy->level_count);
        }
}

void explanation_json_node(const struct explanation *explanation, size_t row, bool has_terms,
                           struct buf *out) {
        explanation_json_node_begin(explanation, row, out);
        if (has_terms)
                put_all_terms(explanation, row, out);
        if (explanation->has_estimate)
                put_estimate(explanation, row, has_terms, out);
        json_write_object_end(out);
}
