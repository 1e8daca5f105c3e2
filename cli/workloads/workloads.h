/* `workloads`: what pods of each workload use, and what they should request. */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb workloads_verb;
