/* The simulation for programs. */
#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/simulate/simulation.h"

static json_t *integer_or_null(size_t value, bool is_known) {
        return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *side_json(const struct difference_side *side, size_t row) {
        const struct explanation *explanation = side->explanation;
        double value_ratio;

        const struct policy_predicate *by = difference_predicate(side, row, &value_ratio);
        int score = explanation_score(explanation, row);
        json_t *json = json_pack("{s:s, s:o, s:o}", "rejectedBy",
                                 by ? explanation->policy->metrics[by->metric].name : "", "score",
                                 integer_or_null((size_t)score, score >= 0), "rank",
                                 integer_or_null(side->ranks[row], score >= 0));
        if (by)
                json_object_update_new(json, json_pack("{s:f, s:f}", "value", value_ratio, "limit",
                                                       by->limit_ratio));
        return json;
}

static json_t *nodes_json(const struct difference *difference) {
        const struct node_table *table = difference->after.explanation->table;
        json_t *nodes = json_array();

        for (size_t row = 0; row < difference->count; row++)
                json_array_append_new(nodes,
                                      json_pack("{s:s, s:s?, s:o, s:o}", "node",
                                                node_table_name(table, row), "closedBy",
                                                difference->after.explanation->closed_by[row],
                                                "before", side_json(&difference->before, row),
                                                "after", side_json(&difference->after, row)));
        return nodes;
}

static json_t *metrics_json(const struct difference *difference) {
        json_t *metrics = json_array();

        for (size_t i = 0; i < difference->metric_count; i++) {
                const struct difference_metric *shown = &difference->metrics[i];
                const struct policy_metric *metric =
                        &difference->after.explanation->policy->metrics[shown->metric];
                json_t *window = metric->is_query
                                         ? json_real((double)metric->query.window_ms / MS_PER_S)
                                         : json_null();
                json_array_append_new(metrics,
                                      json_pack("{s:s, s:I, s:I, s:b, s:o}", "metric", metric->name,
                                                "usable", (json_int_t)shown->usable, "unknown",
                                                (json_int_t)shown->unknown, "new", shown->is_new,
                                                "windowSeconds", window));
        }
        return metrics;
}

static json_t *simulated_policy_json(const struct simulation *simulation) {
        const struct policy *policy = simulation->difference->after.explanation->policy;
        json_t *warnings = json_array();

        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                json_array_append_new(warnings, json_string(policy->warnings[i]));
        return json_pack("{s:s, s:s, s:o}", "inForce", simulation->in_force_from, "simulated",
                         simulation->policy_from, "warnings", warnings);
}

json_t *simulation_json(const struct simulation *simulation) {
        const struct difference *difference = simulation->difference;
        char at[TIMESTAMP_MAX];
        json_t *summary = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "nodes",
                                    (json_int_t)difference->count, "closed",
                                    (json_int_t)difference->closed, "passBefore",
                                    (json_int_t)difference->before.passing, "passAfter",
                                    (json_int_t)difference->after.passing, "newlyRejected",
                                    (json_int_t)difference->newly_rejected, "newlyPassing",
                                    (json_int_t)difference->newly_passing, "scoresChanged",
                                    (json_int_t)difference->scores_changed, "ranksChanged",
                                    (json_int_t)difference->ranks_changed);

        json_t *estimate = json_pack(
                "{s:o?, s:o?}", "before", explanation_source_json(difference->before.explanation),
                "after", explanation_source_json(difference->after.explanation));

        timestamp_format_ms(difference->after.explanation->now_unix_ms, at, sizeof(at));
        return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "at", at, "policy",
                         simulated_policy_json(simulation), "estimate", estimate, "summary",
                         summary, "nodes", nodes_json(difference), "metrics",
                         metrics_json(difference));
}
