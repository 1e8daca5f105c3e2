/* What metrics-server says that pods use. */
#pragma once

#include "base/strmap.h"
#include "cli/cluster/cluster.h"

/** rebalance_usage_list() - list the usage of all pods
 * @ret: "namespace/name" -> struct pod_load *, of the last minutes; empty without metrics-server.
 * Released with rebalance_usage_done() */
void rebalance_usage_list(struct cluster *cluster, int64_t now_unix_ms, struct strmap *ret);
void rebalance_usage_done(struct strmap *usage);
