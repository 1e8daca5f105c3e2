/* Nodes and pods to explain, as kubectl prints them in JSON: the pod that looks for a node, and
 * those that run. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/explanation/listed_nodes.h"
#include "extender/table/node_table.h"
#include "policy/pods/pod_facts.h"

/* The pod that looks for a node. Zero-initialised: any pod without requests, labels and namespace.
 */
struct explained_pod {
        const char *name; /* "namespace/name", borrowed; NULL: any pod */
        struct pod_facts facts;
        char *text; /* owned; the facts point into it */
};

void explain_pod_done(struct explained_pod *pod);

/**
 * explain_pod_add() - a Pod of the input; if it is bound, it becomes part of the estimate
 * @wanted: "namespace/name" of the pod that looks for a node, or NULL
 * @ret:    becomes that pod, if it is the one
 */
void explain_pod_add(struct node_table *table, const json_t *pod, const char *wanted,
                     struct explained_pod *ret);

/** explain_pod_leave_out() - take a pod that is bound out of the estimate of its node, since it is
 * the pod that looks for a node */
void explain_pod_leave_out(struct node_table *table, const struct explained_pod *pod,
                           int64_t now_unix_ms);

/** explain_pod_bind() - a pod of a list becomes part of the estimate, if there is one and the pod
 * is bound */
void explain_pod_bind(struct node_table *table, const struct pod_facts *facts);

/**
 * explain_put() - put a NodeList, kubectl's List with nodes and pods, or one Node into @table
 * @listed:  gets the nodes, too
 * @wanted:  "namespace/name" of the pod that looks for a node, or NULL
 * @ret_pod: zeroed by the caller; set when @wanted is among the pods; NULL without @wanted
 * Return: 0; -EINVAL with the item in @err
 */
_must_check_ int explain_put(struct node_table *table, struct listed_nodes *listed,
                             const json_t *root, const char *wanted, int64_t now_unix_ms,
                             struct explained_pod *ret_pod, struct error *err);
/** explain_read() - explain_put() of a file; "-": standard input. Return: 0; negative errno with
 * path and item in @err */
_must_check_ int explain_read(struct node_table *table, struct listed_nodes *listed,
                              const char *path, const char *wanted, int64_t now_unix_ms,
                              struct explained_pod *ret_pod, struct error *err);
/** explain_read_json() - the JSON of a file; "-": standard input */
_must_check_ int explain_read_json(const char *path, json_t **ret, struct error *err);
