/* `top --requests`: what pods request of each node, beside what it uses. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"
#include "policy/estimate/pod_load.h"
#include "program/style.h"

/* Of a node, of a namespace, or of all. */
struct top_requests_row {
        char *name; /* owned */
        size_t pods;
        struct pod_load capacity, requested; /* capacity 0: not known, as of a namespace */
        struct pod_load used;                /* < 0: no usable reading, or no capacity */
        struct pod_load unused; /* of what is requested, so reclaimable; < 0: not known */
};

struct top_requests_sum {
        size_t node_count, space_count, space_cap;
        struct top_requests_row *nodes, *spaces;
        struct top_requests_row total; /* of the nodes */
};

struct top_requests;

/**
 * top_requests_new() - nothing is known before the first update
 * @policy:      owned by the table from now on; usage is read by its CPU and memory means of the
 *               shortest window
 * @is_watching: as of node_list_new()
 */
struct top_requests *top_requests_new(struct cluster *cluster,
                                      const struct node_table_options *options,
                                      struct policy *policy, bool is_watching, int64_t now_unix_ms);
void top_requests_free(struct top_requests *requests);
DEFINE_FREEP(struct top_requests, top_requests_free);
/** top_requests_table() - where the policy is; borrowed */
struct node_table *top_requests_table(const struct top_requests *requests);

/**
 * top_requests_update() - list nodes and pods, and sum them up
 * @ret: borrowed until the next update
 *
 * Pods that have ended or are not bound request nothing of a node.
 * Return: 0; negative errno
 */
_must_check_ int top_requests_update(struct top_requests *requests, int64_t now_unix_ms,
                                     struct top_requests_sum **ret, struct error *err);

/** top_requests_sort() - nodes and namespaces by name, or by what they request of @resource;
 * @resource < 0: by name */
void top_requests_sort(struct top_requests_sum *sum, int resource);

/** top_requests_print() - the tables; on a narrow terminal without capacities and shares */
void top_requests_print(const struct top_requests_sum *sum, const struct style *style, FILE *out);
/** top_requests_json() - owned by the caller; cores and bytes */
json_t *top_requests_json(const struct top_requests_sum *sum);
