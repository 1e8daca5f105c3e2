/*
 * The values of one node as a table of one row, for those who judge a node by its present values
 * with policy/verdict.h. Pure.
 */
#pragma once

#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/estimate/estimate_terms.h"
#include "policy/verdict.h"

/* Not to be moved: it points into itself. */
struct value_columns {
        struct reading_columns columns;
        const double *usage_ratio[POLICY_MAX_METRICS];
        const int64_t *expires_unix_ms[POLICY_MAX_METRICS];
        double hot;
};

/** value_columns_init() - usable values never expire, all other values are missing
 * @values: borrowed as long as @ret is in use */
void value_columns_init(struct value_columns *ret, const struct policy *policy,
                        const struct plan_values *values);

/**
 * value_columns_score() - of the node, by its present values only: the headroom with scoring
 * estimate, before a pod is added
 * @terms:  of each pool of @policy
 * @values: those of @of
 * Return: 0 to 100; negative: the value of a priority with weight is missing, there is no priority,
 * or the score depends on the other candidates (scale: relative, unless scoring is estimate)
 */
int value_columns_score(const struct value_columns *of, const struct policy *policy,
                        const struct estimate_terms terms[static POLICY_MAX_POOLS + 1],
                        const struct plan_values *values);
