/* The cluster's nodes in the extender's own node table, and with scoring: estimate its bound pods.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"

/**
 * node_list_each() - list all nodes in protobuf, as far as kube_proto_node reads them
 * @is_whole: with their capacity; else metadata alone
 * @on_begin, @on_item: as of struct cluster_listing
 */
enum kube_outcome node_list_each(struct cluster *cluster, bool is_whole,
                                 void (*on_begin)(void *userdata), list_item_fn *on_item,
                                 void *userdata, struct error *err);

struct node_list;

/**
 * node_list_new() - a table without nodes, to be judged by explanation_init() after each update
 * @policy:      owned by the table from now on
 * @wanted_pod:  "namespace/name" of the pod that looks for a node, which is not counted where it
 *               is; NULL: none. Borrowed
 * @is_watching: pods are watched from the first update on, instead of listed at each
 */
struct node_list *node_list_new(struct cluster *cluster, const struct node_table_options *options,
                                struct policy *policy, const char *wanted_pod, bool is_watching,
                                int64_t now_unix_ms);
void node_list_free(struct node_list *list);
DEFINE_FREEP(struct node_list, node_list_free);
/** node_list_table() - borrowed */
struct node_table *node_list_table(const struct node_list *list);

/**
 * node_list_update() - list the nodes
 * @ret_warning: what is missing of it, for people; NULL: nothing. Owned by the caller
 *
 * With scoring: estimate pods are listed or watched as well; without permission the estimate lacks
 * what is in flight.
 * Return: 0; negative errno
 */
_must_check_ int node_list_update(struct node_list *list, int64_t now_unix_ms, char **ret_warning,
                                  struct error *err);
