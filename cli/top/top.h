/* `top`: usage, limits, verdict and score of every node. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb top_verb;
