/* The nodes and pods to explain, from kubectl's JSON: the pod to place, and the running pods. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/explanation/listed_nodes.h"
#include "extender/table/node_table.h"
#include "policy/pods/pod_facts.h"

/* The pod to place. Zero-initialised: any pod without requests, labels and namespace. */
struct explained_pod {
        const char *name; /* "namespace/name", borrowed; NULL: any pod */
        struct pod_facts facts;
        char *text; /* owned; the facts point into it */
};

void explain_pod_done(struct explained_pod *pod);

/**
 * explain_pod_add() - take a Pod of the input. If it is bound, it becomes part of the estimate
 * @full_name: "namespace/name" of the pod to place, or NULL
 * @ret:       set to the pod if it has that name
 */
void explain_pod_add(struct node_table *table, const json_t *pod, const char *full_name,
                     struct explained_pod *ret);

/** explain_pod_leave_out() - remove the pod to place from the estimate of its node, if it is bound
 */
void explain_pod_leave_out(struct node_table *table, const struct explained_pod *pod,
                           int64_t now_unix_ms);

/** explain_pod_bind() - add a bound pod to the estimate, if there is one */
void explain_pod_bind(struct node_table *table, const struct pod_facts *facts);

/**
 * explain_put() - put a NodeList, kubectl's List with nodes and pods, or one Node into @table
 * @listed:    also gets the nodes
 * @full_name: "namespace/name" of the pod to place, or NULL
 * @ret_pod:   zeroed by the caller; set if the input has that pod
 * Return: 0; -EINVAL with the item in @err
 */
_must_check_ int explain_put(struct node_table *table, struct listed_nodes *listed,
                             const json_t *root, const char *full_name, int64_t now_unix_ms,
                             struct explained_pod *ret_pod, struct error *err);
/** explain_read() - explain_put() with the content of a file; "-": standard input. Return: 0;
 * negative errno with path and item in @err */
_must_check_ int explain_read(struct node_table *table, struct listed_nodes *listed,
                              const char *path, const char *full_name, int64_t now_unix_ms,
                              struct explained_pod *ret_pod, struct error *err);
/** explain_read_json() - read JSON from a file; "-": standard input */
_must_check_ int explain_read_json(const char *path, json_t **ret, struct error *err);
