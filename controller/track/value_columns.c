#include "controller/track/value_columns.h"

#include "policy/estimate/score.h"

void value_columns_init(struct value_columns *ret, const struct policy *policy,
                        const struct plan_values *values) {
        static const int64_t always_unix_ms = INT64_MAX, never_unix_ms = READING_NEVER;

        for (size_t i = 0; i < policy->metric_count; i++) {
                ret->usage_ratio[i] = &values->ratio[i];
                ret->expires_unix_ms[i] = plan_has(values, i) ? &always_unix_ms : &never_unix_ms;
        }
        ret->hot = (double)values->hot;
        ret->columns = (struct reading_columns){
                .usage_ratio = ret->usage_ratio,
                .expires_unix_ms = ret->expires_unix_ms,
                .hot = &ret->hot,
                .pool = &values->pool,
                .hot_expires_unix_ms = values->has_hot ? &always_unix_ms : &never_unix_ms,
        };
}

/* Every priority with weight has a value, and is not compared with other nodes. */
static bool is_whole(const struct policy *policy, const struct plan_values *values) {
        struct policy_range range = policy_pool_priorities(policy, values->pool);

        for (size_t i = range.begin; i < range.end; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                bool is_compared = priority->scale == POLICY_SCALE_RELATIVE &&
                                   policy->scoring != POLICY_SCORING_ESTIMATE;
                if (priority->weight > 0 && (is_compared || !plan_has(values, priority->metric)))
                        return false;
        }
        return range.end > range.begin;
}

static int headroom(const struct reading_columns *columns, const struct policy *policy,
                    const struct score_weights *weights) {
        struct score_node node = {.other = score_weights_other(weights, policy, columns, 0, 0)};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (weights->metric[r] >= 0)
                        node.used[r] = weights->weight[r] *
                                       columns->usage_ratio[weights->metric[r]][0];
        double points = score_weights_headroom(weights, &node, &(struct pod_load){0});
        return points > 0 ? (int)points : 0;
}

int value_columns_score(const struct value_columns *row, const struct policy *policy,
                        const struct score_weights weights[static POLICY_MAX_POOLS + 1],
                        const struct plan_values *values) {
        if (!is_whole(policy, values))
                return -1;
        if (policy->scoring == POLICY_SCORING_ESTIMATE)
                return headroom(&row->columns, policy, &weights[values->pool]);
        return verdict_score100(policy, &row->columns, 0, NULL, 0);
}
