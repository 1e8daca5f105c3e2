/* The cluster's nodes, listed once into the extender's own node table. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"

/**
 * node_list_load() - a table of all nodes under @policy, to be judged by explain_judge()
 * @policy:      owned by the table from now on, also on failure
 * @wanted_pod:  "namespace/name" of the pod that looks for a node, which is not counted where it
 *               is; NULL: none
 * @ret_warning: what is missing of it, for people; NULL: nothing. Owned by the caller
 *
 * With scoring: estimate all pods are listed as well; without permission the estimate lacks what is
 * in flight.
 * Return: 0; negative errno
 */
_must_check_ int node_list_load(struct cluster *cluster, const struct node_table_options *options,
                                struct policy *policy, const char *wanted_pod, int64_t now_unix_ms,
                                struct node_table **ret, char **ret_warning, struct error *err);
