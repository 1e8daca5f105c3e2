/*
 * What the estimate reads of a node's annotations, and what the row of the node shows of it. Pure.
 */
#pragma once

#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "policy/judge/node_columns.h"

/**
 * row_estimate_reading() - what a mean says, and of what time
 * @window_ms: of the mean
 * @covered:   node_covered_seconds: while that is less than the window, the mean is of that only
 * Return: window_ms 0: it gives no value
 */
struct tracked_reading row_estimate_reading(const struct reading *mean, int64_t window_ms,
                                            const struct reading *covered, int64_t now_unix_ms);

/**
 * row_estimate_settle() - the columns of the estimate but for the node's number
 * @usage: of the node; zero-initialised: it is in no estimate
 */
void row_estimate_settle(struct node_columns *columns, size_t row, const struct policy *policy,
                         const struct estimate_terms *terms, struct estimator_usage usage,
                         int64_t now_unix_ms);
