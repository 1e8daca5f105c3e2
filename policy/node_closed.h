/* Nodes that are closed to ordinary pods, so the scheduler does not ask about their load. Pure. */
#pragma once

#include <jansson.h>

/**
 * node_closed_by() - the reason why only pods with a toleration can be placed on the node
 * @node: a Node, not trusted
 * Return: "cordoned" or "taint KEY", owned by the caller; NULL: the node is open to all pods
 */
char *node_closed_by(const json_t *node);
