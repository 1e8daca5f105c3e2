/* How many points each candidate gets, as the policy's scoring says. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_score() - after judge_begin()
 *
 * With scoring: estimate the JUDGE_NAMED_MAX best are named and the other candidates get 0;
 * judge->best is the one to reserve for the pod, so that the next call sees its load before the
 * watch of pods shows the binding.
 */
void judge_score(struct judge *judge);
