/* `simulate`: what a policy would change. `record`: what simulate needs, in a file. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb simulate_verb;
