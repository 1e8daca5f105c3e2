/* `doctor`: what is wrong with an installation, why it matters, and what mends it. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb doctor_verb;
