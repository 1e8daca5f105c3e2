/* The simulation for programs. */
#include "cli/simulate/simulation.h"
#include "codec/json.h"

static json_t *integer_or_null(size_t value, bool is_known) {
        return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *side_json(const struct difference_side *side, size_t row) {
        const json_t *limit = difference_limit(side, row);
        int score = difference_score(side, row);

        return json_pack("{s:s?, s:o, s:o, s:O*, s:O*}", "rejectedBy",
                         json_string_at(limit, "metric", NULL), "score",
                         integer_or_null((size_t)score, score >= 0), "rank",
                         integer_or_null(side->ranks[row], side->ranks[row] > 0), "value",
                         json_at(limit, "value", NULL), "limit", json_at(limit, "limit", NULL));
}

static json_t *nodes_json(const struct difference *difference) {
        json_t *nodes = json_array();

        for (size_t row = 0; row < difference->count; row++)
                json_array_append_new(
                        nodes, json_pack("{s:s, s:O?, s:o, s:o}", "node",
                                         difference_name(difference, row), "closedBy",
                                         json_at(json_array_get(difference->after.nodes, row),
                                                 "closedBy", NULL),
                                         "before", side_json(&difference->before, row), "after",
                                         side_json(&difference->after, row)));
        return nodes;
}

static json_t *metrics_json(const struct difference *difference) {
        json_t *metrics = json_array();

        for (size_t i = 0; i < difference->metric_count; i++) {
                const struct difference_metric *of = &difference->metrics[i];
                json_array_append_new(metrics,
                                      json_pack("{s:s, s:I, s:I, s:b, s:O?}", "metric", of->name,
                                                "usable", (json_int_t)of->usable, "unknown",
                                                (json_int_t)of->unknown, "new", of->is_new,
                                                "windowSeconds",
                                                json_at(of->metric, "windowSeconds", NULL)));
        }
        return metrics;
}

json_t *simulation_json(const struct simulation *simulation) {
        const struct difference *difference = simulation->difference;
        const json_t *after = difference->after.answer;
        json_t *summary = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "nodes",
                                    (json_int_t)difference->count, "closed",
                                    (json_int_t)difference->closed, "passBefore",
                                    (json_int_t)difference->before.passing, "passAfter",
                                    (json_int_t)difference->after.passing, "aboveLimitBefore",
                                    (json_int_t)difference->before.over, "aboveLimitAfter",
                                    (json_int_t)difference->after.over, "newlyRejected",
                                    (json_int_t)difference->newly_rejected, "newlyPassing",
                                    (json_int_t)difference->newly_passing, "scoresChanged",
                                    (json_int_t)difference->scores_changed, "ranksChanged",
                                    (json_int_t)difference->ranks_changed);

        return json_pack("{s:O?, s:{s:s, s:s, s:O?}, s:o, s:o, s:o}", "at",
                         json_at(after, "at", NULL), "policy", "inForce", simulation->in_force_from,
                         "simulated", simulation->policy_from, "warnings",
                         json_at(after, "policy", "warnings", NULL), "summary", summary, "nodes",
                         nodes_json(difference), "metrics", metrics_json(difference));
}
