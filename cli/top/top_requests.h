/* `top --requests`: the requests of pods on each node, next to the usage of the node. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/strmap.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"
#include "policy/estimate/pod_load.h"
#include "program/style.h"

/* A node, a namespace, or the total of all nodes. */
struct top_requests_row {
        char *name; /* owned */
        size_t pods;
        struct pod_load capacity, requested; /* capacity 0: unknown; a namespace has none */
        struct pod_load used;                /* < 0: no usable reading, or no capacity */
        struct pod_load unused;              /* requested but not used: reclaimable; < 0: unknown */
        double idle_offered_cores, idle_taken_cores; /* see top_requests_sum.has_idle */
};

struct top_requests_rows {
        struct top_requests_row *items;
        size_t count, cap;
        struct strmap index; /* name -> its index plus 1, until they are sorted */
};

struct top_requests_sum {
        struct top_requests_rows nodes, spaces;
        struct top_requests_row total; /* of all nodes */
        bool has_idle;                 /* the policy has spec.idle, so idle CPU is shown */
};

struct top_requests;

/**
 * top_requests_new() - empty before the first update
 * @policy:      the table becomes its owner. Usage is the policy's mean of CPU and of memory with
 *               the shortest window
 * @selector:    of nodes, borrowed; see node_list_each()
 * @is_watching: watch the pods between updates, instead of listing them each time
 */
struct top_requests *top_requests_new(struct cluster *cluster,
                                      const struct node_table_options *options,
                                      struct policy *policy, const char *selector, bool is_watching,
                                      int64_t now_unix_ms);
void top_requests_free(struct top_requests *requests);
DEFINE_FREEP(struct top_requests, top_requests_free);
/** top_requests_table() - the table of nodes, with the policy; borrowed */
struct node_table *top_requests_table(const struct top_requests *requests);

/**
 * top_requests_update() - list nodes and pods, add up requests, and sort nodes and namespaces
 * @sort_by: the resource whose requests come largest first; negative: by name
 * @ret:     borrowed until the next update
 *
 * Only bound pods that have not ended count.
 * Return: 0; negative errno
 */
_must_check_ int top_requests_update(struct top_requests *requests, int64_t now_unix_ms,
                                     int sort_by, const struct top_requests_sum **ret,
                                     struct error *err);

/** top_requests_print() - print the tables; a narrow terminal shows no capacities and shares
 * @no_headers: without titles */
void top_requests_print(const struct top_requests_sum *sum, const struct style *style,
                        bool no_headers, FILE *out);
/** top_requests_json() - in cores and bytes; owned by the caller */
json_t *top_requests_json(const struct top_requests_sum *sum);
