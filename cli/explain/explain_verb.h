/* `explain`: the reasons of a node's verdict and score. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb explain_verb;
