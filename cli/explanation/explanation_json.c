/* The explanation for programs. */
#include "base/clock.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "cli/explanation/explanation.h"
#include "policy/judge/estimate_usage.h"

/* JSON has no infinity, but a product with a weight of 1e308 can be infinite. */
static json_t *number_json(double value) {
        return number_is_finite(value) ? json_real(value) : json_null();
}

static json_t *seconds_json(int64_t ms) {
        return json_real((double)ms / MS_PER_S);
}

static void set_reading_json(json_t *object, const struct reading *reading, int64_t now_unix_ms) {
        bool is_malformed = reading->state == READING_MALFORMED;
        char at[TIMESTAMP_MAX], expires[TIMESTAMP_MAX];

        json_object_update_new(object, json_pack("{s:s, s:s*, s:s*}", "state",
                                                 node_reading_state_name(reading->state),
                                                 "annotation", reading->text, "why",
                                                 is_malformed ? reading->err.msg : NULL));
        if (is_malformed || reading->state == READING_MISSING)
                return;
        timestamp_format_ms(reading->at_unix_ms, at, sizeof(at));
        timestamp_format_ms(reading->expires_unix_ms, expires, sizeof(expires));
        json_object_update_new(object, json_pack("{s:f, s:s, s:s, s:o}", "value", reading->value,
                                                 "at", at, "expires", expires, "ageSeconds",
                                                 seconds_json(now_unix_ms - reading->at_unix_ms)));
        if (reading->state == READING_EXPIRED)
                json_object_set_new(object, "expiredSeconds",
                                    seconds_json(now_unix_ms - reading->expires_unix_ms));
}

/* The predicate that makes a passing row rank last; -1: none. */
static int last_by(const struct explanation *explanation, size_t row) {
        size_t candidate = explanation->candidates[row];

        return candidate == SIZE_MAX ? -1 : judge_last_by(&explanation->judge, candidate);
}

static json_t *predicate_json(const struct explanation *explanation, size_t row, size_t i) {
        const struct policy_predicate *predicate = &explanation->policy->predicates[i];
        struct reading reading;

        node_table_reading(explanation->table, row, predicate->metric, explanation->now_unix_ms,
                           &reading);
        bool is_over = reading.state == READING_USABLE && predicate->limit_ratio > 0 &&
                       reading.value > predicate->limit_ratio;
        bool is_last = predicate->over_limit == POLICY_OVER_LIMIT_LAST;
        json_t *object = json_pack("{s:s, s:f, s:b, s:b}", "metric",
                                   explanation->policy->metrics[predicate->metric].name, "limit",
                                   predicate->limit_ratio, "rejects",
                                   is_over && !is_last && explanation->rejected_by[row] >= 0,
                                   "putsLast",
                                   is_over && is_last && last_by(explanation, row) >= 0);
        set_reading_json(object, &reading, explanation->now_unix_ms);
        return object;
}

/* Append the predicates of a range. */
static void add_predicates(const struct explanation *explanation, size_t row,
                           struct policy_range range, json_t *to) {
        for (size_t i = range.begin; i < range.end; i++)
                json_array_append_new(to, predicate_json(explanation, row, i));
}

/* @weights: the sum over all priorities of the node */
static json_t *priority_json(const struct explanation *explanation, size_t row, size_t i,
                             double weights) {
        const struct policy_priority *priority = &explanation->policy->priorities[i];
        bool is_relative = priority->scale == POLICY_SCALE_RELATIVE;
        struct reading reading;

        node_table_reading(explanation->table, row, priority->metric, explanation->now_unix_ms,
                           &reading);
        double worth = verdict_worth(explanation->policy, i, reading.value,
                                     &explanation->judge.scored.largest);
        double free = reading.state == READING_USABLE ? worth * priority->weight * 100 : 0;
        json_t *object = json_pack(
                "{s:s, s:f, s:s, s:o*, s:f, s:o*, s:o, s:o}", "metric",
                explanation->policy->metrics[priority->metric].name, "weight", priority->weight,
                "scale", is_relative ? "relative" : "absolute", "largest",
                is_relative ? json_real(explanation->judge.scored.largest.usage_ratio[i]) : NULL,
                "full",
                verdict_full_ratio(explanation->policy, i, reading.value,
                                   &explanation->judge.scored.largest),
                "target", priority->target_ratio > 0 ? json_real(priority->target_ratio) : NULL,
                "free", number_json(free), "points", number_json(free / weights));
        set_reading_json(object, &reading, explanation->now_unix_ms);
        return object;
}

static json_t *usage_json(const struct explanation *explanation, size_t row, int resource) {
        const struct listed_node *listed =
                explanation->listed ? listed_nodes_get(explanation->listed,
                                                       node_table_name(explanation->table, row))
                                    : NULL;
        bool has_requested = listed && listed->requested_ratio[resource] >= 0;
        struct estimate_usage usage;

        if (!estimate_usage_get(&explanation->snapshot->nodes, row, resource,
                                &explanation->judge.question.load, &usage))
                return NULL;
        return json_pack("{s:o*, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:f, s:f}", "requested",
                         has_requested ? number_json(listed->requested_ratio[resource]) : NULL,
                         "reading", usage.is_read ? number_json(usage.reading_ratio) : json_null(),
                         "inFlight", number_json(usage.in_flight_ratio), "margin",
                         number_json(usage.margin_ratio), "pod", number_json(usage.pod_ratio),
                         "expected", number_json(usage.expected_ratio), "weight", usage.weight,
                         "capacity", usage.capacity, "inFlightLoad",
                         number_json(usage.in_flight_ratio * usage.capacity), "podLoad",
                         explanation->judge.question.load.of[resource], "usageToRequest",
                         explanation->expectation.factor.ratio[resource]);
}

/* NULL if the scoring is not estimate; JSON's null if the estimate is unknown. */
static json_t *estimate_json(const struct explanation *explanation, size_t row) {
        bool is_scored = explanation_score(explanation, row) >= 0;

        if (!explanation_has_estimate(explanation))
                return NULL;
        if (explanation->why_unscored)
                return json_null();
        return json_pack("{s:o*, s:o*, s:o, s:o}", "cpu",
                         usage_json(explanation, row, ESTIMATE_CPU), "mem",
                         usage_json(explanation, row, ESTIMATE_MEM), "other",
                         number_json(explanation->snapshot->nodes.columns.other[row]), "headroom",
                         is_scored ? number_json(explanation_fine(explanation, row)) : json_null());
}

static const char *metric_of(const struct policy *policy, int predicate) {
        return predicate < 0 ? "" : policy->metrics[policy->predicates[predicate].metric].name;
}

json_t *explanation_node_json(const struct explanation *explanation, size_t row) {
        const struct policy *policy = explanation->policy;
        json_t *predicates = json_array(), *priorities = json_array(), *hot = json_object();
        size_t pool = node_table_pool(explanation->table, row);
        struct policy_range terms = policy_pool_priorities(policy, pool);
        int by = explanation->rejected_by[row], last = last_by(explanation, row),
            reason_of = by >= 0 ? by : last;
        struct reading reading;
        double weights = 0;

        /* A closed or rejected node has no score: the scheduler does not ask about it. */
        int points = explanation_score(explanation, row);
        json_t *score = points >= 0 ? json_integer(points) : json_null();
        json_t *object = json_pack(
                "{s:s, s:s?, s:s, s:s, s:s, s:i, s:o}", "node",
                node_table_name(explanation->table, row), "closedBy", explanation->closed_by[row],
                "rejectedBy", metric_of(policy, by), "reason",
                reason_of >= 0 ? policy->predicates[reason_of].reason : "", "lastBy",
                metric_of(policy, last), "score100",
                judge_score100(&explanation->judge, (uint32_t)row), "score", score);
        add_predicates(explanation, row, policy_pool_predicates(policy, pool), predicates);
        if (explanation->judge.question.rule)
                add_predicates(explanation, row, explanation->judge.question.rule->limits,
                               predicates);
        for (size_t i = terms.begin; i < terms.end; i++)
                weights += policy->priorities[i].weight;
        for (size_t i = terms.begin; i < terms.end; i++)
                json_array_append_new(priorities, priority_json(explanation, row, i, weights));
        node_table_hot_reading(explanation->table, row, explanation->now_unix_ms, &reading);
        set_reading_json(hot, &reading, explanation->now_unix_ms);
        json_object_update_new(object, json_pack("{s:i, s:o, s:o, s:o, s:o*}", "pool", (int)pool,
                                                 "predicates", predicates, "priorities", priorities,
                                                 "hotValue", hot, "estimate",
                                                 estimate_json(explanation, row)));
        if (explanation->listed && policy->level_count > 0)
                json_object_update_new(
                        object, json_pack("{s:i, s:i}", "taintLevel",
                                          listed_nodes_get(explanation->listed,
                                                           node_table_name(explanation->table, row))
                                                  ->taint_level,
                                          "taintLevels", (int)policy->level_count));
        return object;
}

json_t *explanation_expected_json(const struct explanation *explanation) {
        const struct estimator_expectation *expected = &explanation->expectation;

        if (!explanation_has_estimate(explanation) || explanation->why_unscored)
                return NULL;
        return json_pack("{s:b, s:s*, s:f, s:f, s:f, s:f}", "measured", expected->is_measured,
                         "workload", explanation->workload, "loadCores",
                         expected->load.of[ESTIMATE_CPU], "loadBytes",
                         expected->load.of[ESTIMATE_MEM], "clusterFactorCpu",
                         expected->factor.ratio[ESTIMATE_CPU], "clusterFactorMem",
                         expected->factor.ratio[ESTIMATE_MEM]);
}

size_t explanation_rule(const struct explanation *explanation) {
        return explanation->judge.question.rule
                       ? (size_t)(explanation->judge.question.rule - explanation->policy->rules) + 1
                       : 0;
}

json_t *explanation_source_json(const struct explanation *explanation) {
        if (!explanation_has_estimate(explanation))
                return NULL;
        return json_pack("{s:s?, s:s?}", "from", explanation->estimate_from, "whyNot",
                         explanation->why_unscored);
}

json_t *explanation_json(const struct explanation *explanation) {
        json_t *array = json_array();

        for (size_t row = 0; row < node_table_count(explanation->table); row++)
                json_array_append_new(array, explanation_node_json(explanation, row));
        return array;
}
