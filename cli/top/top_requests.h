/* `top --requests`: what pods request of each node, beside what it uses. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/strmap.h"
#include "cli/cluster/cluster.h"
#include "cli/verb/output.h"
#include "extender/table/node_table.h"
#include "policy/estimate/pod_load.h"

/* Of a node, of a namespace, or of all. */
struct top_requests_row {
        char *name; /* owned */
        size_t pods;
        struct pod_load capacity, requested; /* capacity 0: not known, as of a namespace */
        struct pod_load used;                /* < 0: no usable reading, or no capacity */
        struct pod_load unused; /* of what is requested, so reclaimable; < 0: not known */
};

/* Zero-initialised. */
struct top_requests {
        struct node_table *table; /* row by row as nodes */
        size_t node_count, node_cap, space_count, space_cap;
        struct top_requests_row *nodes, *spaces;
        struct strmap node_index, space_index; /* name -> index + 1 */
        struct top_requests_row total;         /* of the nodes */
};

/**
 * top_requests_load() - list nodes and pods, and sum them up
 * @policy: owned by the table from now on, also on failure; usage is read by its CPU and memory
 *          means of the shortest window
 * @ret:    released with top_requests_done() whatever is returned
 *
 * Pods that have ended or are not bound request nothing of a node.
 * Return: 0; negative errno
 */
_must_check_ int top_requests_load(struct cluster *cluster,
                                   const struct node_table_options *options, struct policy *policy,
                                   int64_t now_unix_ms, struct top_requests *ret,
                                   struct error *err);
void top_requests_done(struct top_requests *requests);

/** top_requests_sort() - nodes and namespaces by name, or by what they request of @resource;
 * @resource < 0: by name */
void top_requests_sort(struct top_requests *requests, int resource);

/** top_requests_print() - the tables; on a narrow terminal without capacities and shares */
void top_requests_print(const struct top_requests *requests, const struct output_style *style,
                        FILE *out);
/** top_requests_json() - owned by the caller; cores and bytes */
json_t *top_requests_json(const struct top_requests *requests);
