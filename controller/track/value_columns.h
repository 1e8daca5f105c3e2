/*
 * The present values of one node as a table with one row, which policy/verdict.h can judge. Pure.
 */
#pragma once

#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/estimate/score_weights.h"
#include "policy/verdict.h"

/* Must not be moved or copied: it points into itself. */
struct value_columns {
        struct reading_columns columns;
        const double *usage_ratio[POLICY_MAX_METRICS];
        const int64_t *expires_unix_ms[POLICY_MAX_METRICS];
        double hot;
};

/** value_columns_init() - usable values never expire, all others are missing; borrows @values */
void value_columns_init(struct value_columns *ret, const struct policy *policy,
                        const struct plan_values *values);

/**
 * value_columns_score() - the node's score by its present values only; with scoring estimate, its
 * headroom without another pod
 * @weights:  [pool]
 * @values: the same as for value_columns_init()
 * Return: 0 to 100; negative: there is no priority, a priority with weight has no value, or the
 * score depends on the other candidates (scale: relative, unless scoring is estimate)
 */
int value_columns_score(const struct value_columns *row, const struct policy *policy,
                        const struct score_weights weights[static POLICY_MAX_POOLS + 1],
                        const struct plan_values *values);
