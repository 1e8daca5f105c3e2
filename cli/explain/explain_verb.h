/* `explain`: why a node has its verdict and score, and why a pod is where it is. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb explain_verb;
