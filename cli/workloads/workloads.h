/* `workloads`: what an extender has learned of each workload, beside what its pods request. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb workloads_verb;
