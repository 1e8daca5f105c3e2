/* Nodes that the scheduler leaves out before it asks about their load. Pure. */
#pragma once

#include <jansson.h>

/**
 * node_closed_by() - why only pods with a toleration get on the node
 * @node: a Node; it may hold anything
 * Return: "cordoned" or "taint KEY", owned by the caller; NULL: the node takes any pod
 */
char *node_closed_by(const json_t *node);
