/*
 * The part of judge_score() for scoring: estimate (policy/estimate/score.h): the pod's expected
 * load, each candidate's headroom with it, points from the best downwards, and a reservation.
 */
#pragma once

#include <stdint.h>

#include "extender/answer/judge.h"

enum { JUDGE_NAMED_MAX = 16 }; /* candidates with points; the others get 0 */

/** judge_estimate() - judge->rows are found; sets its verdicts */
void judge_estimate(struct judge *judge, const struct node_snapshot *snapshot,
                    const struct request *request, int64_t now_mono_ms);
