/* The part of the judge for scoring: estimate (policy/estimate/score.h): each candidate's headroom
 * with the pod's load and the reservations for other pods. */
#pragma once

#include "policy/judge/judge.h"

enum { JUDGE_NAMED_MAX = 16 }; /* candidates with points; the other ones get 0 */

/**
 * judge_find_headrooms() - sets judge->headrooms: -DBL_MAX for candidates without a row, and after
 * judge_filter() for those that are rejected; judge_find_last() has been called
 * Return: the candidate with the most headroom, the first of several; judge->count: none, or none
 * whose headroom is a finite number
 */
size_t judge_find_headrooms(struct judge *judge);
/** judge_reserved() - what the headroom of a row counted as reserved for other pods; NULL: nothing.
 * Borrowed from @judge until its next call */
const struct pod_load *judge_reserved(const struct judge *judge, uint32_t row);
