#include "policy/rebalance/rebalance_line.h"

#include <math.h>

#define LINE_RATIO 0.65
#define BELOW_LIMIT 0.15
#define BELOW_LINE_COOLED 0.02
#define BELOW_LINE_TARGET 0.05

struct rebalance_line rebalance_line(double limit_ratio, double target_ratio) {
        double hot_ratio = fmax(fmin(LINE_RATIO, limit_ratio), limit_ratio - BELOW_LIMIT);

        if (target_ratio > 0)
                hot_ratio = fmax(hot_ratio, target_ratio + BELOW_LINE_TARGET);
        return rebalance_line_at(hot_ratio);
}

double rebalance_line_hot(const struct policy *policy, size_t pool,
                          const struct score_weights *weights) {
        double limit_ratio = 1;

        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                double limit = policy_limit_ratio(policy, pool, i);
                if (limit > 0 && metric->is_query && metric->query.resource == METRIC_CPU)
                        limit_ratio = fmin(limit_ratio, limit);
        }
        return rebalance_line(limit_ratio, weights->target_ratio[ESTIMATE_CPU]).hot_ratio;
}

struct rebalance_line rebalance_line_at(double hot_ratio) {
        return (struct rebalance_line){
                .hot_ratio = hot_ratio,
                .cooled_ratio = hot_ratio - BELOW_LINE_COOLED,
                .target_ratio = hot_ratio - BELOW_LINE_TARGET,
        };
}
