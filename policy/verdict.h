/*
 * Verdict and score of a node. Pure: the readings and the time are arguments, nothing is allocated.
 * Readings are columns: one per metric of the policy, with one row per node.
 *
 * The result is that of crane's plugin, to the digit: doubles, sums in the policy's order, products
 * from left to right, no fused multiply-add, truncation toward zero.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* The expiry of a reading that is missing or malformed: always in the past. */
#define READING_NEVER INT64_MIN

struct reading_columns {
        /* [metric of the policy][row]; usable while now < expires */
        const double *const *usage_ratio;
        const int64_t *const *expires_unix_ms;
        /* [row]; the hot value, counted live or from the annotation */
        const double *hot;
        const int64_t *hot_expires_unix_ms;
        const uint8_t *pool; /* policy_pool_of(); NULL: 0 */
};

/* What the limits make of a node, as indexes into policy->predicates; -1: none. */
struct verdict_limits {
        int16_t rejected_by; /* the first that rejects the node */
        int16_t last_by;     /* if none does: the first with overLimit: last that it is over */
};

/** verdict_filter() - by the predicates of the row's pool. A reading that is not usable is over no
 * limit */
struct verdict_limits verdict_filter(const struct policy *policy,
                                     const struct reading_columns *columns, size_t row,
                                     int64_t now_unix_ms);

/** verdict_filter_by() - the same for the predicates of @limits */
struct verdict_limits verdict_filter_by(const struct policy *policy, struct policy_range limits,
                                        const struct reading_columns *columns, size_t row,
                                        int64_t now_unix_ms);

/** verdict_over() - the predicate that rejects the node or puts it last; -1: none does */
static inline int verdict_over(struct verdict_limits verdict) {
        return verdict.rejected_by >= 0 ? verdict.rejected_by : verdict.last_by;
}

/* For each priority with scale: relative: the largest usable reading among a call's candidates, or
 * 0 if none is usable. The entries of other priorities are not set. */
struct verdict_largest {
        double usage_ratio[POLICY_MAX_TERMS];
};

/**
 * verdict_find_largest() - the largest readings of the candidates @rows
 * @rows: @count of them; an index >= @row_count is skipped
 */
void verdict_find_largest(const struct policy *policy, const struct reading_columns *columns,
                          size_t row_count, const uint32_t *rows, size_t count, int64_t now_unix_ms,
                          struct verdict_largest *ret);

/**
 * verdict_full_ratio() - the usage at which @priority counts a node as full
 * @usage_ratio: the node's own usable reading
 * @largest:     NULL: it is the only candidate
 * Return: 1; with scale: relative the largest reading among the candidates and this node
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
 * verdict_packed() - what a usage is worth if nodes are filled up to a target. An idle node is
 * worth as much as the target; this rises to 1 at the target. Beyond, it falls from the target to 0
 * for a full node, and below 0 for a usage above 1
 *
 * This is the curve of TargetLoadPacking, a plugin of kubernetes-sigs/scheduler-plugins
 * (pkg/trimaran/targetloadpacking), except that the plugin's is 0 above 1.
 */
static inline double verdict_packed(double usage_ratio, double target_ratio) {
        return usage_ratio <= target_ratio
                       ? (1 - target_ratio) * usage_ratio / target_ratio + target_ratio
                       : target_ratio * (1 - usage_ratio) / (1 - target_ratio);
}

/** verdict_worth() - what @priority makes of a usable reading: 1 less its share of
 * verdict_full_ratio(), or with a target verdict_packed() of the share. The share is 0 when that
 * ratio is 0 */
static inline double verdict_worth(const struct policy *policy, size_t priority, double usage_ratio,
                                   const struct verdict_largest *largest) {
        double full_ratio = verdict_full_ratio(policy, priority, usage_ratio, largest);
        double usage_share = full_ratio > 0 ? usage_ratio / full_ratio : 0;
        double target_ratio = policy->priorities[priority].target_ratio;

        return target_ratio > 0 ? verdict_packed(usage_share, target_ratio) : 1 - usage_share;
}

/**
 * verdict_score100() - clamp(trunc(sum worth / sum weight) - trunc(10 * hot), 0, 100)
 * @largest: verdict_find_largest(); NULL: the row is the only candidate
 *
 * worth = verdict_worth() * weight * 100, or 0 for a reading that is not usable, whose weight
 * counts all the same. Without priorities the score is 0.
 */
int verdict_score100(const struct policy *policy, const struct reading_columns *columns, size_t row,
                     const struct verdict_largest *largest, int64_t now_unix_ms);

/* How overLimit: last ranks a candidate; ABSENT: the row is no candidate of the call. */
enum verdict_place { VERDICT_PLACE_ANY, VERDICT_PLACE_LAST, VERDICT_PLACE_ABSENT };

/** verdict_has_last() - some of the @count candidates are to rank last, and some are not. If all
 * are, they are ranked as usual */
bool verdict_has_last(const uint8_t *places, size_t count);
/** verdict_put_last() - if verdict_has_last(): candidates that are to rank last get 0, all other
 * candidates at least 1
 * @scores10: from 0 to 10 */
void verdict_put_last(const uint8_t *places, int *scores10, size_t count);

/** verdict_score10() - score100 / 10, rounded to the nearest: 0 to 10, as the protocol has it */
static inline int verdict_score10(int score100) {
        return (score100 + 5) / 10;
}

/**
 * verdict_spread10() - stretch the scores of a call's candidates: the best gets 10, the worst 0
 * @scores100: @count values, replaced by 0 to 10; if all are equal, all become 10
 */
void verdict_spread10(int *scores100, size_t count);
