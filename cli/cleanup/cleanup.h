/*
 * `cleanup`: removes what controllers have written on nodes, and their Lease. own_keys.h defines
 * which annotations are ours, policy/node_taints.h which taints.
 */
#pragma once

#include "cli/verb/verb.h"

extern const struct verb cleanup_verb;
