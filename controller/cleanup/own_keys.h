/*
 * Which of a node's annotations are ours, that is, what --cleanup removes. Pure.
 *
 * - Keys that belong to our field manager, according to metadata.managedFields: everything that was
 *   written under any policy and not overwritten since.
 * - node_hot_value, node_covered_seconds, the metrics of the policy, and keys that are named like a
 *   metric or its peak and have the value of a reading: written under an earlier policy, or by
 *   crane.
 *
 * With a prefix, only keys that begin with it: other keys may belong to another controller, whose
 * field manager is the same. Without one, owned keys are removed whatever their prefix.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"

/**
 * own_keys_find() - the merge patch's inner object {"cpu_usage_avg_5m":null, ...}
 * @node:   a Node, or only its metadata; may hold anything
 * @prefix: "" or "load.example.com/"
 * Return: owned by the caller, in the order of the annotations; empty when there are none
 */
json_t *own_keys_find(const json_t *node, const struct policy *policy, const char *prefix);
