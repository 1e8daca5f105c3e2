/* `doctor`: checks an installation. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb doctor_verb;
