/* Prints what an extender answers on /explain, for people. The JSON is not trusted. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "program/style.h"

/** explain_nodes_print() - all nodes of the answer
 * @from: the extender and the time */
void explain_nodes_print(const json_t *answer, const char *from, const struct style *style,
                         FILE *out);
/** explain_nodes_print_some() - the node of the pod, the best nodes, and how many others there are
 * @node: of the pod; NULL: none
 * @max_nodes: in addition to that */
void explain_nodes_print_some(const json_t *answer, const char *from, const char *node,
                              size_t max_nodes, const struct style *style, FILE *out);
