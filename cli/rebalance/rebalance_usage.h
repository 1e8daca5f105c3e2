/* What each pod of some nodes uses, as the leading controller has measured it: its page /pods. */
#pragma once

#include <jansson.h>

#include "cli/cluster/cluster.h"

/** rebalance_usage_read() - read the pages of the nodes
 * Return: "namespace/name" -> the pod's member `mean`; without pods that are not measured, and
 * empty if no controller answers. Owned by the caller */
json_t *rebalance_usage_read(struct cluster *cluster, const char *const *nodes, size_t node_count);
