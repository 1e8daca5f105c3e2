/*
 * Which of a node's annotations are ours, or would be: what --cleanup takes off. Pure.
 *
 * - Those that the API server says our field manager owns, whatever they are called: all that we
 *   have written under any policy and nobody has written since.
 * - node_hot_value, the metrics of the policy, and whatever has the name of a metric, or of its
 * peak, and the value of a reading: written under a policy of before, or by crane.
 *
 * With a prefix, only keys that begin with it: others are those of another controller, whose field
 * manager is ours. Without one, what is owned goes under whatever prefix it stands.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"

/**
 * own_keys_find() - the merge patch's inner object {"cpu_usage_avg_5m":null, ...}
 * @node:   a Node or its metadata alone; may hold anything
 * @prefix: "" or "load.example.com/"
 * Return: owned by the caller, in the order of the annotations; empty when there are none
 */
json_t *own_keys_find(const json_t *node, const struct policy *policy, const char *prefix);
