#include "policy/judge/usage_split.h"

#include "policy/annotation.h"

bool usage_split_get(const struct judge_nodes *nodes, size_t row, int resource,
                     const struct pod_load *pod, const struct pod_load *reserved,
                     struct usage_split *ret) {
        const struct score_weights *weights = &nodes->weights[nodes->columns.readings.pool[row]];
        int metric = weights->metric[resource];
        double weight = weights->weight[resource];

        if (weight <= 0)
                return false;
        double own = nodes->columns.own[resource][row]; /* score_own() */
        *ret = (struct usage_split){
                .weight = weight,
                .capacity = own > 0 ? weight * SCORE_OWN_LOAD_FACTOR / own : 0,
                .pod_ratio = own * pod->of[resource] / weight,
        };
        if (node_columns_has_mean(&nodes->columns, metric, row)) {
                ret->is_read = true;
                ret->reading_ratio = nodes->columns.readings.usage_ratio[metric][row];
                ret->read_unix_ms = annotation_at_unix_ms(
                        nodes->columns.readings.expires_unix_ms[metric][row],
                        nodes->policy->metrics[metric].period_ms);
        }
        if (reserved && ret->capacity > 0)
                ret->reserved_ratio = reserved->of[resource] / ret->capacity;
        double used_ratio = nodes->columns.used[resource][row] / weight;
        ret->margin_ratio = nodes->columns.margin_ratio[resource][row];
        ret->in_flight_ratio = used_ratio - ret->margin_ratio - ret->reading_ratio;
        ret->expected_ratio = used_ratio + ret->pod_ratio + ret->reserved_ratio;
        return true;
}
