/* Nodes that are closed to ordinary pods, so the scheduler does not ask about their load. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/**
 * node_closed_by() - the reason why only pods with a toleration can be placed on the node
 * @node: a Node, not trusted
 * Return: "cordoned" or "taint KEY", owned by the caller; NULL: the node is open to all pods
 */
char *node_closed_by(const json_t *node);

/** node_is_avoided() - no pod should move to the node: it has a taint of any effect. An autoscaler
 * that is about to remove a node may have tainted it with PreferNoSchedule */
bool node_is_avoided(const json_t *node);
