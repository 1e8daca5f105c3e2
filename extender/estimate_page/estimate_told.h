/*
 * What an extender tells of its estimate (estimate_json.h), put into a node table in place of the
 * pods: the table then scores as the extender does. Of the page nothing is taken for granted.
 */
#pragma once

#include <jansson.h>

#include "base/attributes.h"
#include "base/error.h"
#include "extender/table/node_table.h"

/**
 * estimate_told_put() - put it into @table, whose policy has scoring: estimate, and whose nodes are
 * in with their readings and capacities. Nodes that the extender does not know stay as they are
 * Return: 0; -ENODATA the extender does not estimate, or by other metrics than the policy of
 * @table; -EINVAL it is no such page: the place is in @err. Of either, nodes may be in already
 */
_must_check_ int estimate_told_put(struct node_table *table, const json_t *page, struct error *err);

/**
 * estimate_told_workloads() - call @fn for each; what it gets ends with @page
 * Return: 0; -EINVAL as above
 */
_must_check_ int estimate_told_workloads(const json_t *page,
                                         void (*fn)(void *userdata,
                                                    const struct workload_facts *facts),
                                         void *userdata, struct error *err);
