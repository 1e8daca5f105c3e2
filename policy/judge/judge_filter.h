/* Which candidates a limit rejects. */
#pragma once

#include "policy/judge/judge.h"

/** judge_filter() - after judge_begin(). When it would reject every candidate, the policy's
 * whenAllOver may let all pass */
void judge_filter(struct judge *judge);
