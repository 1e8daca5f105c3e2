/* The cluster's nodes in the extender's own node table; with scoring: estimate, with what an
 * extender knows of them. */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "cli/explanation/explanation.h"
#include "extender/table/node_table.h"

/**
 * node_list_each() - list nodes, in protobuf, with the fields of kube_proto_node
 * @selector: of labels, as kubectl's -l; NULL: all
 * @on_begin, @on_item: as in struct cluster_listing
 */
enum kube_outcome node_list_each(struct cluster *cluster, const char *selector,
                                 void (*on_begin)(void *userdata), list_item_fn *on_item,
                                 void *userdata, struct error *err);

struct node_list;

/**
 * node_list_new() - a table without nodes
 * @policy:             owned by the table from now on
 * @plimsoll_namespace: where the extenders are; borrowed
 */
struct node_list *node_list_new(struct cluster *cluster, const struct node_table_options *options,
                                struct policy *policy, const char *plimsoll_namespace,
                                int64_t now_unix_ms);
void node_list_free(struct node_list *list);
DEFINE_FREEP(struct node_list, node_list_free);
/** node_list_table() - borrowed */
struct node_table *node_list_table(const struct node_list *list);
/** node_list_listed() - borrowed */
struct listed_nodes *node_list_listed(struct node_list *list);

/** node_list_select() - list only nodes with such labels
 * @selector: as in node_list_each(), borrowed */
void node_list_select(struct node_list *list, const char *selector);
/** node_list_update() - list the nodes, and with scoring: estimate ask an extender what it knows.
 * Return: 0; negative errno when the nodes cannot be listed */
_must_check_ int node_list_update(struct node_list *list, int64_t now_unix_ms, struct error *err);
/**
 * node_list_update_all() - the same for several policies: the nodes are listed once, so they have
 * the same rows in every table
 *
 * The first policy is the one in force. If it has scoring: estimate, an extender is asked. If only
 * later ones have it, they estimate by the pods that there are, as an extender begins with.
 */
_must_check_ int node_list_update_all(struct node_list *const lists[], size_t count,
                                      int64_t now_unix_ms, struct error *err);
/**
 * node_list_read_all() - the same from files
 * @path:          what explain_put() takes; "-": standard input
 * @estimate_path: an extender's page /estimate; NULL: estimate by the pods in the file
 */
_must_check_ int node_list_read_all(struct node_list *const lists[], size_t count, const char *path,
                                    const char *estimate_path, int64_t now_unix_ms,
                                    struct error *err);
/** node_list_explain() - explanation_init() of the last update, with where the estimate is from, or
 * why there are no scores
 * @pod: may be NULL, as there
 * @ret: borrows until the next update */
void node_list_explain(const struct node_list *list, const struct explained_pod *pod,
                       int64_t now_unix_ms, struct explanation *ret);
