/* The nodes of a list, for explanations: they go into a node table, and this keeps what the table
 * does not have. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/strmap.h"
#include "extender/table/node_table.h"

struct listed_node {
        char *closed_by; /* from node_closed_by() */
        bool is_avoided; /* node_is_avoided() */
        int taint_level; /* the number of load taints */
        int64_t pods;    /* on the node, from an extender; -1: unknown */
        /* What its pods request as a share of the capacity, from an extender; -1: unknown. */
        double requested_ratio[ESTIMATE_RESOURCE_COUNT];
        struct pod_load allocatable; /* cores and bytes */
        double pods_max;             /* that fit on the node; 0: unknown */
};

/* Zero-initialised: empty. */
struct listed_nodes {
        struct strmap by_name; /* -> struct listed_node */
};

void listed_nodes_done(struct listed_nodes *nodes);

/** listed_nodes_put() - add a Node here and to @table. Return: false: it has no name */
_must_check_ bool listed_nodes_put(struct listed_nodes *nodes, struct node_table *table,
                                   const json_t *node, int64_t now_unix_ms);
/** listed_nodes_count_pods() - read the numbers of pods, and what they request, from an extender's
 * page /estimate, which estimate_import_page() has accepted */
void listed_nodes_count_pods(struct listed_nodes *nodes, const json_t *page);
/** listed_nodes_get() - borrowed; @name: of a node that listed_nodes_put() has added */
const struct listed_node *listed_nodes_get(const struct listed_nodes *nodes, const char *name);
