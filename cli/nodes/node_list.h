/* The cluster's nodes in the extender's node table. With scoring: estimate, an extender provides
 * what it knows about them. */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "cli/explanation/explanation.h"
#include "extender/table/node_table.h"

struct node_list;

/**
 * node_list_new() - a table without nodes
 * @policy:             the table becomes its owner
 * @plimsoll_namespace: of the extenders; borrowed
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

/** node_list_select() - list only nodes with these labels
 * @selector: like kubectl's -l, borrowed; NULL: all */
void node_list_select(struct node_list *list, const char *selector);
/** node_list_update() - list the nodes. With scoring: estimate, also read an extender's estimate.
 * Return: 0; negative errno if the nodes cannot be listed */
_must_check_ int node_list_update(struct node_list *list, int64_t now_unix_ms, struct error *err);
/**
 * node_list_update_all() - update several lists, one per policy. The nodes are listed once, so they
 * have the same rows in every table
 *
 * The first policy is the one in force. If it has scoring: estimate, an extender provides the
 * estimate. If only later policies have it, they use the bound pods, as a new extender does.
 */
_must_check_ int node_list_update_all(struct node_list *const lists[], size_t count,
                                      int64_t now_unix_ms, struct error *err);
/**
 * node_list_read_all() - update several lists from files
 * @path:          input of explain_put(); "-": standard input
 * @estimate_path: an extender's page /estimate; NULL: use the pods in the file
 */
_must_check_ int node_list_read_all(struct node_list *const lists[], size_t count, const char *path,
                                    const char *estimate_path, int64_t now_unix_ms,
                                    struct error *err);
/** node_list_explain() - explanation_init() with the last update. Sets the origin of the estimate,
 * or why there are no scores
 * @pod: may be NULL
 * @ret: borrows until the next update */
void node_list_explain(const struct node_list *list, const struct explained_pod *pod,
                       int64_t now_unix_ms, struct explanation *ret);
