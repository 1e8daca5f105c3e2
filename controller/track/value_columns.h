/*
 * The values of one node as a table of one row, for those who judge a node by its present values
 * with policy/verdict.h. Pure.
 */
#pragma once

#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/verdict.h"

/* Not to be moved: it points into itself. */
struct value_columns {
        struct reading_columns columns;
        const double *usage_ratio[POLICY_MAX_SYNC];
        const int64_t *expires_unix_ms[POLICY_MAX_SYNC];
        double hot;
};

/** value_columns_init() - usable values never expire, the others are missing
 * @values: borrowed as long as @ret is in use */
void value_columns_init(struct value_columns *ret, const struct policy *policy,
                        const struct plan_values *values);
