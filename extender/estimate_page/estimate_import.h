/*
 * Imports an extender's estimate (estimate_json.h) into a node table, in place of pods. Guarantee:
 * the table then scores nodes as the extender does. The page is not trusted: every number is
 * checked.
 */
#pragma once

#include <jansson.h>

#include "base/attributes.h"
#include "base/error.h"
#include "extender/table/node_table.h"

/**
 * estimate_import_page() - nodes, workloads and cluster
 * @table: its policy has scoring: estimate, and its nodes have readings and capacities. Nodes that
 *         the extender does not know stay unchanged
 * Return: 0; -ENODATA: the extender does not estimate, or uses other metrics than the policy of
 * @table; -EINVAL: not such a page, @err says where. After an error some nodes may be changed
 */
_must_check_ int estimate_import_page(struct node_table *table, const json_t *page,
                                      struct error *err);
