#include "policy/rebalance/rebalance_line.h"

#include <math.h>

#define LINE_RATIO 0.65
#define BELOW_LIMIT 0.15
#define BELOW_LINE_COOLED 0.02
#define BELOW_LINE_TARGET 0.05

/* The lowest limit on CPU; 1: there is none. */
static double cpu_limit(const struct policy *policy, size_t pool) {
        struct policy_range of = policy_pool_predicates(policy, pool);
        double limit_ratio = 1;

        for (size_t i = of.begin; i < of.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                const struct policy_metric *metric = &policy->metrics[predicate->metric];
                if (metric->is_query && metric->query.resource == METRIC_CPU &&
                    predicate->limit_ratio > 0)
                        limit_ratio = fmin(limit_ratio, predicate->limit_ratio);
        }
        return limit_ratio;
}

struct rebalance_line rebalance_line(const struct policy *policy,
                                     const struct estimate_terms *terms, size_t pool) {
        double limit_ratio = cpu_limit(policy, pool);
        double hot_ratio = fmax(fmin(LINE_RATIO, limit_ratio), limit_ratio - BELOW_LIMIT);
        double target_ratio = terms->target_ratio[ESTIMATE_CPU];

        if (target_ratio > 0)
                hot_ratio = fmax(hot_ratio, target_ratio + BELOW_LINE_TARGET);
        return (struct rebalance_line){
                .hot_ratio = hot_ratio,
                .cooled_ratio = hot_ratio - BELOW_LINE_COOLED,
                .target_ratio = hot_ratio - BELOW_LINE_TARGET,
        };
}
