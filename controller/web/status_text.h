/*
 * Pieces of the status page's JSON. They append to a buffer, whose overflow the caller checks.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/** status_text_ratio() - four decimals; @ratio: finite, >= 0; no comma before it */
void status_text_ratio(double ratio, struct buf *out);
/** status_text_percents() - an array of whole percents, null for a negative ratio */
void status_text_percents(const float *ratios, size_t count, struct buf *out);
/** status_text_lines() - an array of the lines of @text */
void status_text_lines(const char *key, const char *text, struct buf *out);
/** status_text_limits() - "limits" of the nodes of a pool, in the order of the metrics, null: none
 */
void status_text_limits(const struct policy *policy, size_t pool, struct buf *out);
/** status_text_policy() - the policy: what it measures, limits and weighs, and its warnings */
void status_text_policy(const char *key, const struct policy *policy, struct buf *out);
