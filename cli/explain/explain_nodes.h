/* Prints what an extender answers on /explain, for people. The JSON is not trusted. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "program/style.h"

/** explain_nodes_print() - the node of the pod, the best nodes, and how many others there are
 * @from: the extender and the time
 * @node: of the pod; NULL: none
 * @max_nodes: in addition to that */
void explain_nodes_print(const json_t *answer, const char *from, const char *node, size_t max_nodes,
                         const struct style *style, FILE *out);
