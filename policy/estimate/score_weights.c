#include "policy/estimate/score_weights.h"

#include <math.h>

/* The resource of a mean; -1: not a mean, or not of a resource that is estimated. */
static int resource_of(const struct policy_metric *metric) {
        if (!metric->is_query || metric->query.statistic != METRIC_AVG)
                return -1;
        if (metric->query.resource == METRIC_CPU)
                return ESTIMATE_CPU;
        return metric->query.resource == METRIC_MEM ? ESTIMATE_MEM : -1;
}

void score_weights_init(struct score_weights *weights, const struct policy *policy, size_t pool) {
        struct policy_range of = policy_pool_priorities(policy, pool);
        int chosen[ESTIMATE_RESOURCE_COUNT] = {-1, -1};
        double largest = 0;

        *weights = (struct score_weights){.metric = {-1, -1}, .priorities = of};
        for (int r = 0; of.begin == of.end && r < ESTIMATE_RESOURCE_COUNT; r++)
                weights->weight[r] = 1;
        for (size_t i = of.begin; i < of.end; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                const struct policy_metric *metric = &policy->metrics[priority->metric];
                int r = resource_of(metric);
                if (priority->weight > largest)
                        largest = priority->weight;
                if (r < 0 || priority->weight == 0 ||
                    (chosen[r] >= 0 && weights->window_ms[r] <= metric->query.window_ms))
                        continue;
                chosen[r] = (int)i;
                weights->metric[r] = (int)priority->metric;
                weights->window_ms[r] = metric->query.window_ms;
        }
        for (size_t i = of.begin; largest > 0 && i < of.end; i++) {
                double weight = policy->priorities[i].weight / largest;
                bool is_chosen = false;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        if (chosen[r] == (int)i) {
                                weights->weight[r] = weight;
                                weights->target_ratio[r] = policy->priorities[i].target_ratio;
                                weights->has_target |= weights->target_ratio[r] > 0;
                                is_chosen = true;
                        }
                weights->other_weight[i] = is_chosen ? 0 : weight;
                weights->has_other |= weights->other_weight[i] > 0;
        }
}

double score_weights_other(const struct score_weights *weights, const struct policy *policy,
                           const struct reading_columns *columns, size_t row, int64_t now_unix_ms) {
        double largest = 0;

        for (size_t i = weights->priorities.begin; i < weights->priorities.end; i++) {
                size_t metric = policy->priorities[i].metric;
                double usage_ratio = columns->usage_ratio[metric][row];
                double target_ratio = policy->priorities[i].target_ratio;
                if (target_ratio > 0)
                        usage_ratio = 1 - verdict_packed(usage_ratio, target_ratio);
                double weighted = weights->other_weight[i] * usage_ratio;
                if (weights->other_weight[i] > 0 && weighted > largest &&
                    now_unix_ms < columns->expires_unix_ms[metric][row])
                        largest = weighted;
        }
        return largest;
}

uint8_t score_weights_missing(const struct score_weights *weights, const struct policy *policy,
                              const struct reading_columns *columns, size_t row,
                              const bool is_known[static ESTIMATE_RESOURCE_COUNT],
                              int64_t now_unix_ms) {
        unsigned missing = 0;

        for (unsigned r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (weights->weight[r] > 0 && !is_known[r])
                        missing |= 1u << r;
        for (size_t i = weights->priorities.begin; i < weights->priorities.end; i++)
                if (weights->other_weight[i] > 0 &&
                    now_unix_ms >= columns->expires_unix_ms[policy->priorities[i].metric][row])
                        missing |= 1u << ESTIMATE_OTHER;
        return (uint8_t)missing;
}

void score_weights_complete(const struct score_weights *weights,
                            const struct estimate_median *median, uint8_t missing,
                            struct score_node *node) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (missing >> r & 1)
                        node->used[r] = fmax(node->used[r], weights->weight[r] * median->ratio[r]);
        if (missing >> ESTIMATE_OTHER & 1)
                node->other = fmax(node->other, median->ratio[ESTIMATE_OTHER]);
}

double score_weights_packed(const struct score_weights *weights, const struct score_node *node,
                            const struct pod_load *pod) {
        double largest = node->other;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double weight = weights->weight[r], target_ratio = weights->target_ratio[r];
                double weighted = node->used[r] + node->own[r] * pod->of[r];
                if (target_ratio > 0 && weight > 0)
                        weighted = weight * (1 - verdict_packed(weighted / weight, target_ratio));
                largest = weighted > largest ? weighted : largest;
        }
        return 100 * (1 - largest);
}
