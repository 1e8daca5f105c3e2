/* `rebalance`: which pods should move off hot nodes, and moving them. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb rebalance_verb;
