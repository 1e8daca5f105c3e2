/*
 * Which annotations of a node are ours, and removed by `cleanup`: those that the API server has
 * recorded as written by our field manager (metadata.managedFields), under any policy and prefix,
 * and that nobody has overwritten since. Pure.
 */
#pragma once

#include <jansson.h>

/**
 * own_keys_find() - the annotations of a merge patch, {"cpu_usage_avg_5m":null, ...}
 * @node: a Node, or its metadata only; may hold anything
 * Return: owned by the caller; may be empty
 */
json_t *own_keys_find(const json_t *node);
