/*
 * The line above which a node is hot, by the policy in force for its pool. A plan must not empty
 * nodes that the policy fills, so the line is
 *
 *     65% CPU                with a limit on CPU of 65 to 80%, such as the recommended one of 80%
 *     the limit              if that is lower
 *     15% below the limit    if that is higher; without a limit, it is 100%
 *     5% above the target    at least, if the priority of CPU has one
 *
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "policy/estimate/score_weights.h"
#include "policy/policy.h"

/* Shares of a node's CPUs. */
struct rebalance_line {
        double hot_ratio;    /* above it, the node loses a pod ... */
        double cooled_ratio; /* ... that brings it down to this */
        double target_ratio; /* a node that gets a pod stays at or below this */
};

/** rebalance_line() - the line of the nodes of a pool
 * @limit_ratio:  the lowest limit on CPU; 1: there is none
 * @target_ratio: of the priority of CPU; 0: none */
struct rebalance_line rebalance_line(double limit_ratio, double target_ratio);
/** rebalance_line_hot() - hot_ratio of the nodes of @pool, whose weights are @weights */
double rebalance_line_hot(const struct policy *policy, size_t pool,
                          const struct score_weights *weights);
/** rebalance_line_at() - the line with this hot_ratio */
struct rebalance_line rebalance_line_at(double hot_ratio);
