/*
 * Converts annotations of a node to readings for the estimate, and the estimate to the node's row.
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "policy/judge/node_columns.h"

/**
 * row_estimate_reading() - a mean, with the interval that it covers
 * @window_ms: the window of the metric
 * @covered:   the annotation node_covered_seconds: if it is less than the window, the mean covers
 *             only that time
 * Return: window_ms is 0 if the value is missing, impossible or expired. An expired value that the
 * estimate used before stays in effect
 */
struct mean_reading row_estimate_reading(const struct reading *mean, int64_t window_ms,
                                         const struct reading *covered, int64_t now_unix_ms);

/**
 * row_estimate_settle() - set the columns of the estimate, except for estimate_number
 * @usage: of the node; zero-initialised: the node is not in the estimate
 */
void row_estimate_settle(struct node_columns *columns, size_t row, const struct policy *policy,
                         const struct score_weights *weights, struct estimator_usage usage,
                         int64_t now_unix_ms);
