/* `top`: the load line of every node. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb top_verb;
