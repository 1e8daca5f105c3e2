/* Nodes, and pods, as kubectl prints them in JSON. */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "extender/explain/explained_pod.h"

/**
 * explain_read() - put what a file holds into @table: a NodeList, kubectl's List, or one Node
 * @path:    "-": standard input
 * @wanted:  "namespace/name" of the pod that looks for a node, or NULL
 * @ret_pod: zeroed by the caller; set when @wanted is among the pods
 * Return: 0; negative errno with path and item in @err
 */
_must_check_ int explain_read(struct node_table *table, const char *path, const char *wanted,
                              int64_t now_unix_ms, struct explained_pod *ret_pod,
                              struct error *err);
