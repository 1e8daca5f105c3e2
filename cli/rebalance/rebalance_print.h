/* A plan, for people and for programs. */
#pragma once

#include <jansson.h>

#include "cli/rebalance/rebalance_pods.h"

/** rebalance_print() - a table of the hot nodes, and why those stay hot that keep their pods */
void rebalance_print(const struct rebalance_plan *plan, const struct rebalance_pods *pods,
                     FILE *out);
/** rebalance_json() - owned by the caller */
json_t *rebalance_json(const struct rebalance_plan *plan, const struct rebalance_pods *pods);
