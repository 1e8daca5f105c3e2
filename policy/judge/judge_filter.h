/* Which candidates are rejected by a limit. */
#pragma once

#include "policy/judge/judge.h"

/** judge_filter() - after judge_begin(). If every candidate would be rejected, the policy's
 * whenAllOver may let all of them pass */
void judge_filter(struct judge *judge);
