/*
 * The priorities of a policy with scoring: estimate. score.h ranks a candidate by its largest
 * weighted usage, where the weight of a priority is relative to the largest weight. For cpu and
 * mem, the shortest mean with a weight is the reading from which the node is estimated
 * (node_estimate.h). Other metrics count with the values of their annotations. Without priorities,
 * CPU and memory count by the requests of pods.
 *
 * An unknown value of a candidate is replaced by the median of the candidates that have one. With 0
 * instead, a node that cannot be measured would get every pod. As full, it would never get a pod,
 * and a new node would get none until it is measured. With the median, it gets pods as soon as the
 * better half of the nodes is equally full; these pods and reservations are then added to it, as to
 * any other node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/score.h"
#include "policy/policy.h"
#include "policy/verdict.h"

/* The parts of the maximum: CPU, memory, and the largest of all other priorities. */
enum { ESTIMATE_OTHER = ESTIMATE_RESOURCE_COUNT, ESTIMATE_PART_COUNT };

struct score_weights {
        int metric[ESTIMATE_RESOURCE_COUNT]; /* index into the policy's metrics; -1: none */
        int64_t window_ms[ESTIMATE_RESOURCE_COUNT];
        double weight[ESTIMATE_RESOURCE_COUNT];       /* 0 to 1 */
        double target_ratio[ESTIMATE_RESOURCE_COUNT]; /* 0: none */
        bool has_target;                              /* any of them */
        bool has_other;                               /* some other_weight is above 0 */
        double other_weight[POLICY_MAX_ENTRIES];      /* [priority]; 0 for CPU and memory */
        struct policy_range priorities;               /* of the pool */
};

/** score_weights_init() - for the nodes of @pool (policy_pool_of()) */
void score_weights_init(struct score_weights *weights, const struct policy *policy, size_t pool);
/** score_weights_other() - the largest weighted reading of the priorities other than CPU and
 * memory; with a target, a reading counts as 1 - verdict_packed(). 0: no reading is usable */
double score_weights_other(const struct score_weights *weights, const struct policy *policy,
                           const struct reading_columns *columns, size_t row, int64_t now_unix_ms);
/** score_weights_missing() - the unknown parts that count, one bit each. ESTIMATE_OTHER is unknown
 * if one of its readings is unusable
 * @is_known: estimator_usage.is_known */
uint8_t score_weights_missing(const struct score_weights *weights, const struct policy *policy,
                              const struct reading_columns *columns, size_t row,
                              const bool is_known[static ESTIMATE_RESOURCE_COUNT],
                              int64_t now_unix_ms);

/* The median usage of candidates by part; CPU and memory are unweighted. 0: no candidate has a
 * known value. */
struct estimate_median {
        double ratio[ESTIMATE_PART_COUNT];
};

/** score_weights_complete() - raise the unknown parts of @node to the median
 * @missing: score_weights_missing() */
void score_weights_complete(const struct score_weights *weights,
                            const struct estimate_median *median, uint8_t missing,
                            struct score_node *node);

/** score_weights_packed() - score_headroom() for priorities with targets: a resource with a target
 * counts with weight * (1 - verdict_packed(v / weight)) instead of v */
double score_weights_packed(const struct score_weights *weights, const struct score_node *node,
                            const struct pod_load *pod);
/** score_weights_headroom() - score_weights_packed() if there is a target, else score_headroom()
 */
static inline double score_weights_headroom(const struct score_weights *weights,
                                            const struct score_node *node,
                                            const struct pod_load *pod) {
        return weights->has_target ? score_weights_packed(weights, node, pod)
                                   : score_headroom(node, pod);
}
