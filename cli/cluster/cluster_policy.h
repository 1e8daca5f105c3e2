/* The policy of a file, or of the cluster's object. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "policy/policy.h"

/**
 * cluster_policy_load() - from @path, or from the cluster if that is NULL: the built-in policy if
 * the object is missing or invalid
 * @path: "-": standard input
 * Return: 0; negative errno if it cannot be read, or the file is invalid
 */
_must_check_ int cluster_policy_load(struct cluster *cluster, const char *path, struct policy **ret,
                                     struct error *err);
