/*
 * Annotations that an earlier policy has left on a node: readings of metrics that the policy in
 * force does not have. Nobody renews them, and a scheduler might still read them. Pure.
 *
 * Only values that are more than a day old are removed: crane's controller may write other metrics
 * at the same time, with periods of hours.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "controller/track/plan.h"
#include "policy/kept_texts.h"

enum { STALE_ANNOTATIONS_MAX = 32 }; /* in one patch; the next patch removes more */

/**
 * stale_annotations_append() - add a null for each of them to a merge patch
 * @kept:   what the node carries
 * @policy: the policy in force
 * @out:    as for plan_write_annotation()
 */
void stale_annotations_append(const struct kept_texts *kept, const struct policy *policy,
                              const struct plan_style *style, int64_t now_unix_ms, struct buf *out);
