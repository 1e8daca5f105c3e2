/*
 * Parts of the status page's JSON. They append to a buffer; the caller checks its overflow.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/** status_text_ratio() - a number with four decimals, without a comma; @ratio: finite, >= 0 */
void status_text_ratio(double ratio, struct buf *out);
/** status_text_percents() - an array of whole percentages; null for negative ratios */
void status_text_percents(const float *ratios, size_t count, struct buf *out);
/** status_text_lines() - an array of the lines of @text */
void status_text_lines(const char *key, const char *text, struct buf *out);
/** status_text_limits() - the array "limits" of a pool, in the order of the metrics; null: no limit
 */
void status_text_limits(const struct policy *policy, size_t pool, struct buf *out);
/** status_text_policy() - the policy: its metrics, limits, weights and warnings */
void status_text_policy(const char *key, const struct policy *policy, struct buf *out);
