/*
 * Nodes as POST /explain of an extender takes them: of each Node, what a judge needs. Whole nodes
 * are ten times as large.
 */
#pragma once

#include <jansson.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"

/** cluster_nodes_list() - the nodes of the cluster. @ret: an array, owned by the caller */
_must_check_ int cluster_nodes_list(struct cluster *cluster, json_t **ret, struct error *err);

/**
 * cluster_nodes_read() - the nodes in a file: a NodeList, kubectl's List, or one Node
 * @path: "-": standard input
 * @pod_name: "namespace/name" of a pod that the file also has; NULL: none
 * @ret: an array, owned by the caller
 * @ret_pod: that pod, owned by the caller; NULL without a name
 * Return: 0; negative errno with the path in @err
 */
_must_check_ int cluster_nodes_read(const char *path, const char *pod_name, json_t **ret,
                                    json_t **ret_pod, struct error *err);

/** cluster_nodes_file() - the text of a file, as a JSON string for a request. @ret: owned by the
 * caller */
_must_check_ int cluster_nodes_file(const char *path, json_t **ret, struct error *err);
