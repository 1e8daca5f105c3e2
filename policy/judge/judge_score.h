/* How many points each candidate gets, by the policy's scoring. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_score() - after judge_begin()
 *
 * With scoring: estimate, the JUDGE_NAMED_MAX best candidates get points and all others 0.
 * judge->scored.best is the one to reserve for the pod, so that the next call counts the pod's load
 * there before the watch of pods shows the binding. For a pod of a PodGroup no other candidate has
 * as many points.
 */
void judge_score(struct judge *judge);
