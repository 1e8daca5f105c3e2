/*
 * The part of judge_score() for scoring: estimate (policy/estimate/score.h): the pod's expected
 * load, each candidate's headroom with it, points from the best downwards, and a reservation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "extender/answer/judge.h"

enum { JUDGE_NAMED_MAX = 16 }; /* candidates with points; the others get 0 */

/**
 * judge_find_headrooms() - judge->rows are found; sets judge->expectation and judge->headrooms:
 * -DBL_MAX for those that are not in the table
 * @is_after_filter: and for those whose verdict is not JUDGE_PASSES
 * Return: the candidate with the most headroom, the first of several; request->count: none, or
 * none whose headroom is a finite number
 */
size_t judge_find_headrooms(struct judge *judge, const struct node_snapshot *snapshot,
                            const struct request *request, int64_t now_mono_ms,
                            bool is_after_filter);
/** judge_estimate() - judge->rows are found; sets its verdicts */
void judge_estimate(struct judge *judge, const struct node_snapshot *snapshot,
                    const struct request *request, int64_t now_mono_ms);
/** judge_reserved() - what the headroom of a row counted as reserved for other pods; NULL: nothing.
 * Borrowed from @judge until its next request */
const struct pod_load *judge_reserved(const struct judge *judge,
                                      const struct node_snapshot *snapshot, uint32_t row);
