/*
 * The verdict on a node by the policy's limits, and its score by the policy's weights. Pure: the
 * readings and the time are arguments, and nothing is allocated. Readings are columns: one column
 * per metric of the policy, one row per node.
 *
 * Guarantee: the results equal those of crane's plugin to the last digit. Doubles are added in the
 * policy's order and multiplied from left to right, without fused multiply-add, and truncated
 * toward zero. Recorded results of crane test this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* The expiry of a missing or malformed reading: always in the past. */
#define READING_NEVER INT64_MIN

struct reading_columns {
        /* [metric of the policy][row]; usable while now < expires */
        double *usage_ratio[POLICY_MAX_METRICS];
        int64_t *expires_unix_ms[POLICY_MAX_METRICS];
        /* [row]: the hot value, from the watch of bindings or from the annotation */
        double *hot;
        int64_t *hot_expires_unix_ms;
        uint8_t *pool; /* policy_pool_of(); NULL: 0 */
};

/* The verdict on a node, as indexes into policy->predicates; -1: none. */
struct verdict_limits {
        int16_t rejected_by; /* the first predicate that rejects the node */
        /* If no predicate rejects it: the first predicate with overLimit: last whose limit is
         * exceeded. */
        int16_t last_by;
};

/** verdict_filter() - apply the predicates of the row's pool. An unusable reading exceeds no limit
 */
struct verdict_limits verdict_filter(const struct policy *policy,
                                     const struct reading_columns *columns, size_t row,
                                     int64_t now_unix_ms);

/** verdict_filter_by() - apply the predicates in the range @limits */
struct verdict_limits verdict_filter_by(const struct policy *policy, struct policy_range limits,
                                        const struct reading_columns *columns, size_t row,
                                        int64_t now_unix_ms);

/** verdict_over() - the predicate that rejects the node or ranks it last; -1: none */
static inline int verdict_over(struct verdict_limits verdict) {
        return verdict.rejected_by >= 0 ? verdict.rejected_by : verdict.last_by;
}

/* For each priority with scale: relative, the largest usable reading among the candidates of a
 * call, or 0 if no reading is usable. Entries of other priorities are not set. */
struct verdict_largest {
        double usage_ratio[POLICY_MAX_ENTRIES];
};

/**
 * verdict_find_largest() - find the largest readings of the candidates
 * @rows: the rows of the @count candidates; rows >= @row_count are skipped
 */
void verdict_find_largest(const struct policy *policy, const struct reading_columns *columns,
                          size_t row_count, const uint32_t *rows, size_t count, int64_t now_unix_ms,
                          struct verdict_largest *ret);

/**
 * verdict_full_ratio() - the usage at which a node is full for @priority
 * @usage_ratio: the usable reading of the node
 * @largest:     NULL: the node is the only candidate
 * Return: 1; with scale: relative, the largest reading among the candidates and this node
 */
static inline double verdict_full_ratio(const struct policy *policy, size_t priority,
                                        double usage_ratio, const struct verdict_largest *largest) {
        if (policy->priorities[priority].scale == POLICY_SCALE_ABSOLUTE)
                return 1;
        return largest && largest->usage_ratio[priority] > usage_ratio
                       ? largest->usage_ratio[priority]
                       : usage_ratio;
}

/**
 * verdict_packed() - the worth of a usage if nodes are filled up to a target
 *
 * The worth of an idle node equals the target. It rises to 1 at the target; above, it falls from
 * the target to 0 for a full node, and below 0 for a usage above 1. This is the curve of
 * TargetLoadPacking, a plugin of kubernetes-sigs/scheduler-plugins
 * (pkg/trimaran/targetloadpacking), which is 0 for a usage above 1.
 */
static inline double verdict_packed(double usage_ratio, double target_ratio) {
        return usage_ratio <= target_ratio
                       ? (1 - target_ratio) * usage_ratio / target_ratio + target_ratio
                       : target_ratio * (1 - usage_ratio) / (1 - target_ratio);
}

/** verdict_worth() - the worth of a usable reading for @priority: 1 minus its share of
 * verdict_full_ratio(), or with a target, verdict_packed() of that share. The share of 0 is 0 */
static inline double verdict_worth(const struct policy *policy, size_t priority, double usage_ratio,
                                   const struct verdict_largest *largest) {
        double full_ratio = verdict_full_ratio(policy, priority, usage_ratio, largest);
        double usage_share = full_ratio > 0 ? usage_ratio / full_ratio : 0;
        double target_ratio = policy->priorities[priority].target_ratio;

        return target_ratio > 0 ? verdict_packed(usage_share, target_ratio) : 1 - usage_share;
}

/**
 * verdict_score100() - clamp(trunc(sum worth / sum weight) - trunc(10 * hot), 0, 100)
 * @largest: from verdict_find_largest(); NULL: the row is the only candidate
 *
 * worth = verdict_worth() * weight * 100, or 0 for an unusable reading, whose weight counts
 * nevertheless. Without priorities the score is 0.
 */
int verdict_score100(const struct policy *policy, const struct reading_columns *columns, size_t row,
                     const struct verdict_largest *largest, int64_t now_unix_ms);

/* How overLimit: last ranks a candidate. ABSENT: the row is not a candidate of the call. */
enum verdict_place { VERDICT_PLACE_ANY, VERDICT_PLACE_LAST, VERDICT_PLACE_ABSENT };

/** verdict_has_last() - some candidates must rank last, and some need not. If all must rank last,
 * they are ranked as usual */
bool verdict_has_last(const uint8_t *places, size_t count);
/** verdict_put_last() - if verdict_has_last(): set the scores of candidates that must rank last to
 * 0, and raise the scores of all other candidates to at least 1
 * @scores10: from 0 to 10 */
void verdict_put_last(const uint8_t *places, int *scores10, size_t count);

/** verdict_score10() - @score100 / 10, rounded: 0 to 10, as the extender protocol requires */
static inline int verdict_score10(int score100) {
        return (score100 + 5) / 10;
}

/**
 * verdict_spread10() - stretch the scores of a call's candidates: the best gets 10, the worst 0
 * @scores100: @count values, replaced by values from 0 to 10; if all are equal, all become 10
 */
void verdict_spread10(int *scores100, size_t count);
