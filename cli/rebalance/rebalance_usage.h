/* What each pod of some nodes uses, as the leading controller has measured it: its page /pods. */
#pragma once

#include "base/strmap.h"
#include "cli/cluster/cluster.h"

/** rebalance_usage_read() - read the pages of the nodes
 * @ret: "namespace/name" -> struct pod_load *; without pods that are not measured, and empty if no
 * controller answers. Released with rebalance_usage_done() */
void rebalance_usage_read(struct cluster *cluster, const char *const *nodes, size_t node_count,
                          struct strmap *ret);
void rebalance_usage_done(struct strmap *usage);
