/*
 * What a policy's priorities mean with scoring: estimate. score.h ranks a candidate by the largest
 * of its usages; the weight of a priority, relative to the largest weight, says how much its metric
 * counts there. For cpu and mem the shortest mean with a weight is the reading that base and pods
 * are estimated from (tracked_node.h). Any other metric counts with the value of its annotation. If
 * the policy has no priority at all, CPU and memory count by what pods request.
 *
 * A value that is not known of a candidate counts as in the median of the candidates for which it
 * is known. If it counted as 0, a node that cannot be measured would get every pod. If it counted
 * as full, such a node would never get one, and a node that has just joined none until it is
 * measured. As the median it gets pods once the better half of the nodes is as full; those pods and
 * the reservations are then added to it as to any other node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/score.h"
#include "policy/policy.h"
#include "policy/verdict.h"

/* What the maximum is taken from: CPU, memory, and the largest of all other priorities. */
enum { ESTIMATE_OTHER = ESTIMATE_RESOURCE_COUNT, ESTIMATE_PART_COUNT };

struct estimate_terms {
        int metric[ESTIMATE_RESOURCE_COUNT]; /* index into the policy's metrics; -1: none */
        int64_t window_ms[ESTIMATE_RESOURCE_COUNT];
        int shorter[ESTIMATE_RESOURCE_COUNT];   /* the shortest mean of the same period; -1: none */
        double weight[ESTIMATE_RESOURCE_COUNT]; /* 0 to 1 */
        double target_ratio[ESTIMATE_RESOURCE_COUNT]; /* 0: none */
        bool has_target;                              /* any of them */
        bool has_other;                               /* some other_weight is above 0 */
        double other_weight[POLICY_MAX_TERMS];        /* per priority; 0 for CPU and memory */
        struct policy_range priorities;               /* of the pool */
};

/** estimate_terms_init() - for the nodes of @pool (policy_pool_of()) */
void estimate_terms_init(struct estimate_terms *terms, const struct policy *policy, size_t pool);
/** estimate_terms_other() - the largest weighted reading of the priorities that are not CPU or
 * memory; one with a target counts as 1 - verdict_packed(). 0: none is usable */
double estimate_terms_other(const struct estimate_terms *terms, const struct policy *policy,
                            const struct reading_columns *columns, size_t row, int64_t now_unix_ms);
/** estimate_terms_missing() - the parts that count and are not known, a bit each. ESTIMATE_OTHER is
 * not known as soon as one of its readings is not usable
 * @is_known: whether anything is known of the usage of CPU and of memory */
uint8_t estimate_terms_missing(const struct estimate_terms *terms, const struct policy *policy,
                               const struct reading_columns *columns, size_t row,
                               const bool is_known[static ESTIMATE_RESOURCE_COUNT],
                               int64_t now_unix_ms);

/* The median usage of the candidates, by part; CPU and memory are not weighted. 0: it is known for
 * no candidate. */
struct estimate_median {
        double ratio[ESTIMATE_PART_COUNT];
};

/** estimate_terms_complete() - set the parts of @node that are not known to the median, unless they
 * are larger already
 * @missing: estimate_terms_missing() */
void estimate_terms_complete(const struct estimate_terms *terms,
                             const struct estimate_median *median, uint8_t missing,
                             struct score_node *node);

/** estimate_terms_packed() - score_headroom() if a resource has a target: such a resource counts in
 * the maximum with weight * (1 - verdict_packed(v / weight)) instead of v */
double estimate_terms_packed(const struct estimate_terms *terms, const struct score_node *node,
                             const struct pod_load *pod);
/** estimate_terms_headroom() - estimate_terms_packed() or score_headroom(), as the policy needs */
static inline double estimate_terms_headroom(const struct estimate_terms *terms,
                                             const struct score_node *node,
                                             const struct pod_load *pod) {
        return terms->has_target ? estimate_terms_packed(terms, node, pod)
                                 : score_headroom(node, pod);
}
