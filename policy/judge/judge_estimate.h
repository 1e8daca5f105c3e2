/* Scoring: estimate (policy/estimate/score.h): the headroom of each candidate with the load of the
 * pod and the reservations for other pods. */
#pragma once

#include "policy/judge/judge.h"

enum { JUDGE_NAMED_MAX = 16 }; /* candidates that get points; see judge_score() */

/**
 * judge_find_headrooms() - set judge->scored.headrooms; after judge_find_last()
 *
 * The headroom is -DBL_MAX for candidates without a row and, after judge_filter(), for candidates
 * that were rejected.
 * Return: the first candidate with the most headroom; judge->question.count: there is none
 */
size_t judge_find_headrooms(struct judge *judge);
/** judge_reserved() - the load reserved for other pods, which the headroom of a row includes; NULL:
 * none. Borrowed from @judge until its next call */
const struct pod_load *judge_reserved(const struct judge *judge, uint32_t row);
/** judge_reservation() - the load to reserve for the pod on scored.best: at most the capacity of
 * the node, whatever the pod requests */
struct pod_load judge_reservation(const struct judge *judge);
