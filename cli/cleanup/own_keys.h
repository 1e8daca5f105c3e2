/*
 * Which annotations of a node are ours, and removed by `cleanup`. Pure.
 *
 * - Keys that our field manager owns (metadata.managedFields): written under any policy, and not
 *   overwritten since.
 * - node_hot_value, node_covered_seconds, pod_usage, the metrics of the policy, and keys that look
 * like a metric or its peak and have the value of a reading: written under an earlier policy, or by
 *   crane.
 *
 * With a prefix, only keys that begin with it: other keys may belong to another controller with the
 * same field manager. Without a prefix, owned keys are removed whatever their prefix.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"

/**
 * own_keys_find() - the annotations of a merge patch, {"cpu_usage_avg_5m":null, ...}
 * @node:   a Node, or its metadata only; may hold anything
 * @prefix: "" or "load.example.com/"
 * Return: owned by the caller, in the order of the annotations; may be empty
 */
json_t *own_keys_find(const json_t *node, const struct policy *policy, const char *prefix);
