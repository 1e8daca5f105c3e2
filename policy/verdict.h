/*
 * Filter and score of a node. Pure: the readings and the time are arguments, nothing is allocated.
 * Readings are columns, one per metric of the policy, with one row per node (the extender's table;
 * a single node is a table of one row).
 *
 * Equal to crane's plugin to the digit: doubles, sums in the policy's order, products left to
 * right, no fused multiply-add, truncation toward zero.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* An expiry that is never in the future: there is no reading, or it was malformed. */
#define READING_NEVER INT64_MIN

struct reading_columns {
        /* [metric of the policy][row]; usable while now < expires */
        const double *const *usage_ratio;
        const int64_t *const *expires_unix_ms;
        /* [row]; the hot value, counted live or from the annotation */
        const double *hot;
        const int64_t *hot_expires_unix_ms;
        const uint8_t *pool; /* of policy_pool_of(); NULL: 0 */
};

/**
 * verdict_filter() - the first predicate of @policy that rejects row @row
 * Return: index into policy->predicates, or below 0 when the node passes: -1, or what
 * verdict_is_last() tells from it. A reading that is not usable never rejects.
 */
int verdict_filter(const struct policy *policy, const struct reading_columns *columns, size_t row,
                   int64_t now_unix_ms);

/** verdict_filter_by() - the same by the predicates of @limits */
int verdict_filter_by(const struct policy *policy, struct policy_range limits,
                      const struct reading_columns *columns, size_t row, int64_t now_unix_ms);

/** verdict_is_last() - the node passes, and is over a limit with overLimit: last */
static inline bool verdict_is_last(int verdict) {
        return verdict < -1;
}

/** verdict_last_by() - the first such predicate, for which verdict_is_last(); and the inverse */
static inline int verdict_last_by(int verdict) {
        return -2 - verdict;
}

/* For each priority with scale: relative, the largest usable reading among one call's candidates, 0
 * when none is usable. The entries of other priorities are not set. */
struct verdict_largest {
        double usage_ratio[POLICY_MAX_TERMS];
};

/**
 * verdict_find_largest() - of the candidates @rows
 * @rows:      @count of them; an index >= @row_count is skipped
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

/** verdict_usage_share() - the reading divided by verdict_full_ratio(); 0 when that is 0 */
static inline double verdict_usage_share(const struct policy *policy, size_t priority,
                                         double usage_ratio,
                                         const struct verdict_largest *largest) {
        double full_ratio = verdict_full_ratio(policy, priority, usage_ratio, largest);

        return full_ratio > 0 ? usage_ratio / full_ratio : 0;
}

/**
 * verdict_packed() - what a usage is worth when nodes are to be filled up to a target: from the
 * target, for an idle node, to 1 at the target, and from the target down to 0 for a full node;
 * below 0 above 1
 *
 * The curve of TargetLoadPacking, a plugin of kubernetes-sigs/scheduler-plugins
 * (pkg/trimaran/targetloadpacking), which is 0 above 1.
 */
static inline double verdict_packed(double usage_ratio, double target_ratio) {
        return usage_ratio <= target_ratio
                       ? (1 - target_ratio) * usage_ratio / target_ratio + target_ratio
                       : target_ratio * (1 - usage_ratio) / (1 - target_ratio);
}

/** verdict_worth() - what @priority makes of a usable reading: the free share, 1 -
 * verdict_usage_share(), or with a target verdict_packed() of the share */
static inline double verdict_worth(const struct policy *policy, size_t priority, double usage_ratio,
                                   const struct verdict_largest *largest) {
        double usage_share = verdict_usage_share(policy, priority, usage_ratio, largest);
        double target_ratio = policy->priorities[priority].target_ratio;

        return target_ratio > 0 ? verdict_packed(usage_share, target_ratio) : 1 - usage_share;
}

/**
 * verdict_score100() - clamp(trunc(sum worth / sum weight) - trunc(10 * hot), 0, 100)
 * @largest: of verdict_find_largest(); NULL: the row is the only candidate
 *
 * worth = verdict_worth() * weight * 100, 0 for a reading that is not usable; all weights count. No
 * priority at all gives 0.
 */
int verdict_score100(const struct policy *policy, const struct reading_columns *columns, size_t row,
                     const struct verdict_largest *largest, int64_t now_unix_ms);

/* Where overLimit: last puts a candidate; ABSENT: it is none of the call's. */
enum verdict_place { VERDICT_PLACE_ANY, VERDICT_PLACE_LAST, VERDICT_PLACE_ABSENT };

/** verdict_has_last() - some of the @count candidates are to be last, and some are not: where all
 * are, they are ranked as ever */
bool verdict_has_last(const uint8_t *places, size_t count);
/** verdict_put_last() - after verdict_has_last(): those that are to be last get 0, the others at
 * least 1; @scores10: from 0 to 10 */
void verdict_put_last(const uint8_t *places, int *scores10, size_t count);

/** verdict_score10() - score100 / 10 rounded to nearest: the 0 to 10 of the extender protocol */
int verdict_score10(int score100);

/**
 * verdict_spread10() - stretch the candidates of one call: the best gets 10, the worst 0
 * @scores100: @count values, replaced by 0..10; all equal gives all 10
 */
void verdict_spread10(int *scores100, size_t count);
