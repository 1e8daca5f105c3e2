/* The policy to judge by: a file, the cluster's object, or what the programs have in force if there
 * is none, or if it is refused. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "policy/policy.h"

/* clang-format off */
#define CLUSTER_POLICY_ROW(place)                                                                  \
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &(place),              \
         .metavar = "FILE",                                                                        \
         .help = "File with the DynamicSchedulerPolicy to judge by; - for standard input. "        \
                 "Default: the cluster's object named default; if there is none, or if it is "     \
                 "refused, what the controllers have in force."}
/* clang-format on */

#define CLUSTER_POLICY_OBJECT "DynamicSchedulerPolicy default"

/** cluster_policy_read() - the policy of a file
 * @path: "-": standard input. That, and a pipe, can be read only once */
_must_check_ int cluster_policy_read(const char *path, struct policy **ret, struct error *err);

/** cluster_policy_from_object() - the policy of a DynamicSchedulerPolicy */
_must_check_ int cluster_policy_from_object(const json_t *object, struct policy **ret,
                                            struct error *err);

/**
 * cluster_policy_kept() - the policy in force if the cluster has no object, or if it is refused.
 * Controllers keep the policy that they had before, so one of them is asked; if none answers, it is
 * the built-in policy
 * @namespace: where they are
 * @ret_from:  what it is, for people; owned by the caller
 */
struct policy *cluster_policy_kept(struct cluster *cluster, const char *namespace, char **ret_from);

/**
 * cluster_policy_load() - from @path, or if that is NULL from the cluster
 * @namespace: where the programs are
 * @ret_from:  CLUSTER_POLICY_OBJECT, the file's name, or as above with why it is not the object
 * Return: 0; negative errno when it cannot be read, or the file is refused
 */
_must_check_ int cluster_policy_load(struct cluster *cluster, const char *path,
                                     const char *namespace, struct policy **ret, char **ret_from,
                                     struct error *err);
