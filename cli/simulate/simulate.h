/* `simulate`: compares two policies. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb simulate_verb;
