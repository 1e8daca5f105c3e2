/* `trial`: what Plimsoll would do for the cluster, by the trial of an extender. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb trial_verb;
