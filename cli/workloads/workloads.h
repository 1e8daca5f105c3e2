/* `workloads`: what the extender has learned about each workload. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb workloads_verb;
