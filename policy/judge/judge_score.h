/* The points of each candidate, by the policy's scoring. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_score() - set the points; after judge_begin()
 *
 * With scoring: estimate, the JUDGE_NAMED_MAX best candidates get points, and all other candidates
 * get 0; or 1 if some candidate ranks last by overLimit: last, which gets 0. The caller reserves
 * the node of judge->scored.best for the pod, so the next call counts the pod's load there even
 * before the watch shows the binding. For a pod of a PodGroup, no other candidate has as many
 * points.
 */
void judge_score(struct judge *judge);
