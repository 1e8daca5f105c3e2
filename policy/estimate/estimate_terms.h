/*
 * How a policy's priorities are read when its scoring is estimate. The weight of a priority is how
 * much its metric counts in the maximum that score.h takes, relative to the largest weight. For cpu
 * and mem the shortest mean is what base and pods are made of (tracked_node.h); every other
 * priority counts as its annotation reads. Where there is no priority at all, both count by what
 * pods request.
 *
 * What is not known of a candidate counts as in the median of the candidates of which it is known.
 * As nothing it would be the best of all: the node that cannot be measured would get every pod. As
 * the worst it would get none, for ever if it is never measured, and a node that has just joined
 * none until it is. As the median it gets pods once the better half is as full, and what comes with
 * them, the pod's own load and reservations, is added as for any other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/score.h"
#include "policy/policy.h"
#include "policy/verdict.h"

/* What the maximum is taken of: cpu, memory, and the largest of all others. */
enum { ESTIMATE_OTHER = ESTIMATE_RESOURCE_COUNT, ESTIMATE_PART_COUNT };

struct estimate_terms {
        int metric[ESTIMATE_RESOURCE_COUNT]; /* index into the policy's metrics; -1: none */
        int64_t window_ms[ESTIMATE_RESOURCE_COUNT];
        int shorter[ESTIMATE_RESOURCE_COUNT];   /* the shortest mean of the same period; -1: none */
        double weight[ESTIMATE_RESOURCE_COUNT]; /* 0 to 1 */
        double target_ratio[ESTIMATE_RESOURCE_COUNT]; /* 0: none */
        bool has_target;                              /* any of them */
        bool has_other;                               /* some other_weight is above 0 */
        double other_weight[POLICY_MAX_TERMS];        /* per priority; 0 for those above */
        struct policy_range priorities;               /* of the pool */
};

/** estimate_terms_init() - for the nodes of @pool (policy_pool_of()) */
void estimate_terms_init(struct estimate_terms *terms, const struct policy *policy, size_t pool);
/** estimate_terms_other() - the largest weighted reading of the other priorities, or with a target
 * of 1 - verdict_packed(); 0: none usable */
double estimate_terms_other(const struct estimate_terms *terms, const struct policy *policy,
                            const struct reading_columns *columns, size_t row, int64_t now_unix_ms);
/** estimate_terms_missing() - the parts that count and are not known, a bit each: of the others it
 * is one reading that is not usable
 * @is_known: whether anything is known of the usage of cpu and of mem */
uint8_t estimate_terms_missing(const struct estimate_terms *terms, const struct policy *policy,
                               const struct reading_columns *columns, size_t row,
                               const bool is_known[static ESTIMATE_RESOURCE_COUNT],
                               int64_t now_unix_ms);

/* Usage of the candidates, by part: of cpu and mem without weights; 0 where it is known of none. */
struct estimate_median {
        double ratio[ESTIMATE_PART_COUNT];
};

/** estimate_terms_complete() - the parts of @node that are not known, a bit each in @missing,
 * become those of the median, unless what is known is more already */
void estimate_terms_complete(const struct estimate_terms *terms,
                             const struct estimate_median *median, uint8_t missing,
                             struct score_node *node);

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
