/* `explain`: the reasons for a node's verdict and score, and for a pod's node. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb explain_verb;
