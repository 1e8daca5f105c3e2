/*
 * From a node's annotations to readings for the estimate, and from the estimate to the node's row.
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "policy/judge/node_columns.h"

/**
 * row_estimate_reading() - a mean, with the time that it is the mean of
 * @window_ms: the metric's
 * @covered:   the annotation node_covered_seconds: if it is less than the window, the mean is of
 *             only so much time
 * Return: window_ms is 0 if there is no value, one that cannot be, or one that has expired: an
 * estimate that took it before that goes on from it
 */
struct tracked_reading row_estimate_reading(const struct reading *mean, int64_t window_ms,
                                            const struct reading *covered, int64_t now_unix_ms);

/**
 * row_estimate_settle() - set the columns of the estimate, except the node's number
 * @usage: the node's; zero-initialised: it is in no estimate
 */
void row_estimate_settle(struct node_columns *columns, size_t row, const struct policy *policy,
                         const struct estimate_terms *terms, struct estimator_usage usage,
                         int64_t now_unix_ms);
