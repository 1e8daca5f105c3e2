/* Nodes as a list shows them, for explanations: in a node table, and besides that what the extender
 * does not need, or what another one knows. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/strmap.h"
#include "extender/table/node_table.h"

struct listed_node {
        char *closed_by;             /* as node_closed_by() */
        int taint_level;             /* the number of its taints of load */
        int64_t pods;                /* on the node, as an extender counts them; -1: not known */
        struct pod_load allocatable; /* cores and bytes */
};

/* Zero-initialised: empty. */
struct listed_nodes {
        struct strmap by_name; /* -> struct listed_node */
};

void listed_nodes_done(struct listed_nodes *nodes);

/** listed_nodes_put() - put a Node into @table, too. Return: false: it has no name */
_must_check_ bool listed_nodes_put(struct listed_nodes *nodes, struct node_table *table,
                                   const json_t *node, int64_t now_unix_ms);
/** listed_nodes_count_pods() - take the numbers of pods from an extender's page /estimate */
void listed_nodes_count_pods(struct listed_nodes *nodes, const json_t *page);
/** listed_nodes_get() - borrowed; of an unknown node, nothing is known */
const struct listed_node *listed_nodes_get(const struct listed_nodes *nodes, const char *name);
