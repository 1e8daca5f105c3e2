/*
 * How a policy's priorities are read when its scoring is estimate. The weight of a priority is how
 * much its metric counts in the maximum that score.h takes, relative to the largest weight. For cpu
 * and mem the shortest mean is what pods in flight are added to; every other priority counts as
 * its annotation reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/score.h"
#include "policy/policy.h"
#include "policy/verdict.h"

struct estimate_terms {
        int metric[ESTIMATE_RESOURCE_COUNT]; /* index into the policy's sync; -1: none */
        int64_t window_ms[ESTIMATE_RESOURCE_COUNT];
        double weight[ESTIMATE_RESOURCE_COUNT];       /* 0 to 1 */
        double target_ratio[ESTIMATE_RESOURCE_COUNT]; /* 0: none */
        bool has_target;                              /* any of them */
        double other_weight[POLICY_MAX_TERMS];        /* per priority; 0 for those above */
        struct policy_range priorities;               /* of the pool */
};

/** estimate_terms_init() - for the nodes of @pool (policy_pool_of()) */
void estimate_terms_init(struct estimate_terms *terms, const struct policy *policy, size_t pool);
/** estimate_terms_other() - the largest weighted reading of the other priorities, or with a target
 * of 1 - verdict_packed(); 0: none usable */
double estimate_terms_other(const struct estimate_terms *terms, const struct policy *policy,
                            const struct reading_columns *columns, size_t row, int64_t now_unix_ms);

/** estimate_terms_packed() - score_headroom() where a resource has a target: what it takes part in
 * the maximum with is weight * (1 - verdict_packed(v / weight)) in place of v */
double estimate_terms_packed(const struct estimate_terms *terms, const struct score_node *node,
                             const struct pod_load *pod);
/** estimate_terms_headroom() - the one or the other */
static inline double estimate_terms_headroom(const struct estimate_terms *terms,
                                             const struct score_node *node,
                                             const struct pod_load *pod) {
        return terms->has_target ? estimate_terms_packed(terms, node, pod)
                                 : score_headroom(node, pod);
}
