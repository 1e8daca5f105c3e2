/*
 * What an earlier policy has left on a node: readings of metrics that the policy in force does not
 * have. Nobody renews them, and a scheduler that looks for them would believe them. Pure.
 *
 * Only values that are more than a day old count: crane's controller may write metrics of its own
 * beside ours, with periods of hours, and the longest window is a day.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "controller/track/plan.h"
#include "policy/kept_annotations.h"

enum { STALE_ANNOTATIONS_MAX = 32 }; /* per patch; the next patch removes more */

/**
 * stale_annotations_append() - remove them in a merge patch
 * @kept:   what the node carries
 * @policy: the one in force
 * @out:    ends in the object of annotations, which has at least one member; null is added for each
 */
void stale_annotations_append(const struct kept_annotations *kept, const struct policy *policy,
                              const struct plan_style *style, int64_t now_unix_ms, struct buf *out);
