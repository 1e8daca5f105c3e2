/* The part of the judge for scoring: estimate (policy/estimate/score.h): each candidate's headroom
 * with the pod's load and the reservations for other pods. */
#pragma once

#include "policy/judge/judge.h"

enum { JUDGE_NAMED_MAX = 16 }; /* candidates with points; all other candidates get 0 */

/**
 * judge_find_headrooms() - set judge->scored.headrooms, after judge_find_last(). It is -DBL_MAX for
 * candidates without a row and, after judge_filter(), for those that were rejected
 *
 * Return: the first candidate with the most headroom; judge->question.count: no headroom is a
 * finite number
 */
size_t judge_find_headrooms(struct judge *judge);
/** judge_reserved() - the load reserved for other pods that is in the headroom of a row; NULL:
 * none. Borrowed from @judge until its next call */
const struct pod_load *judge_reserved(const struct judge *judge, uint32_t row);
/** judge_reservation() - the load to reserve on the best candidate, scored.best, for the pod that
 * was asked about: at most the candidate's capacity, whatever the pod requests */
struct pod_load judge_reservation(const struct judge *judge);
