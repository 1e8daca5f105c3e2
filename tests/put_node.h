/* Puts a node into a table by the parts that tests are about. */
#pragma once

#include "extender/table/node_table.h"

/* The parts are borrowed; NULL: the node has none. */
static inline void put_node_parts(struct node_table *table, const char *name,
                                  const json_t *annotations, const json_t *labels,
                                  const json_t *capacity, int64_t now_unix_ms) {
        json_auto_t *node = json_pack("{s:{s:s,s:O*,s:O*},s:{s:O*}}", "metadata", "name", name,
                                      "annotations", annotations, "labels", labels, "status",
                                      "capacity", capacity);

        (void)node_table_put(table, node, now_unix_ms);
}
