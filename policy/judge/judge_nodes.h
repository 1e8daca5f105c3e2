/*
 * The nodes of a cluster as a judge sees them: one row per node, for one policy, at the time of
 * publication. Immutable.
 *
 *                       row 0    row 1    row 2
 *     usage_ratio[0]  |  0.31  |  0.72  |   -    |   readings of the policy's first metric,
 *     expires[0]      | 11:35  | 11:35  | never  |   and the time until which each is usable
 *     ...
 *     used[], own[]   |  0.38  |  0.75  |  0.20  |   scoring: estimate: policy/estimate/score.h
 *     limits          |   -    |   0    |   -    |   the verdict at built_unix_ms, and the time
 *     settled_until   | 11:35  | 11:35  | never  |   until which it is valid: most requests only
 *                                                    look it up
 *
 * Names are kept by the caller, which maps candidates to rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/judge/node_columns.h"

struct judge_nodes {
        const struct policy *policy;
        const struct score_weights *weights; /* [pool], with scoring: estimate */
        bool has_target;                     /* some of the weights have a target */
        size_t count;                        /* rows */
        struct node_columns columns;
        int64_t built_unix_ms;             /* when the verdicts were computed */
        int64_t all_settled_until_unix_ms; /* until when all of them are valid */
};

/* The verdict on one row. */
struct node_verdict {
        struct verdict_limits limits;
        int score100; /* as the only candidate; meaningless if policy_is_relative() */
};

/** judge_nodes_verdict_of() - compute the verdict on a row from its readings
 * @weights: see struct judge_nodes */
struct node_verdict judge_nodes_verdict_of(const struct node_columns *columns,
                                           const struct policy *policy,
                                           const struct score_weights *weights, size_t row,
                                           int64_t now_unix_ms);

/** judge_nodes_verdict_slow() - judge_nodes_verdict_of() for a row of @nodes */
static inline struct node_verdict judge_nodes_verdict_slow(const struct judge_nodes *nodes,
                                                           size_t row, int64_t now_unix_ms) {
        return judge_nodes_verdict_of(&nodes->columns, nodes->policy, nodes->weights, row,
                                      now_unix_ms);
}

/** judge_nodes_are_settled() - all published verdicts are still valid */
static inline bool judge_nodes_are_settled(const struct judge_nodes *nodes, int64_t now_unix_ms) {
        return now_unix_ms >= nodes->built_unix_ms &&
               now_unix_ms < nodes->all_settled_until_unix_ms;
}

/** judge_nodes_verdict() - look the verdict up, or compute it if the published one has expired
 * @is_settled: the result of judge_nodes_are_settled() for the same time */
static inline struct node_verdict judge_nodes_verdict(const struct judge_nodes *nodes, size_t row,
                                                      bool is_settled, int64_t now_unix_ms) {
        const struct node_columns *columns = &nodes->columns;

        if (is_settled || (now_unix_ms >= nodes->built_unix_ms &&
                           now_unix_ms < columns->settled_until_unix_ms[row]))
                return (struct node_verdict){columns->limits[row], columns->score100[row]};
        return judge_nodes_verdict_slow(nodes, row, now_unix_ms);
}
