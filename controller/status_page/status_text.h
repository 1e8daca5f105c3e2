/*
 * Pieces of the status page's JSON. They append to a buffer and ignore its end, which the caller
 * looks at.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/** status_text_member() - "key":"value", escaped; @key is plain */
void status_text_member(const char *key, const char *value, struct buf *out);
/** status_text_next() - the same behind a comma */
void status_text_next(const char *key, const char *value, struct buf *out);
/** status_text_ratio() - four decimals; @ratio: finite, >= 0 */
void status_text_ratio(double ratio, struct buf *out);
/** status_text_percents() - an array of whole percents, null for a negative ratio */
void status_text_percents(const float *ratios, size_t count, struct buf *out);
/** status_text_lines() - an array of the lines of @text */
void status_text_lines(const char *text, struct buf *out);
/** status_text_policy() - the policy: what it measures, limits and weighs, and its warnings */
void status_text_policy(const struct policy *policy, struct buf *out);
