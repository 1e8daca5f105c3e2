/* The policy to use: a file, the cluster's object, or, if that is missing or invalid, the policy
 * that the programs have in force. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "policy/policy.h"

/* clang-format off */
#define CLUSTER_POLICY_ROW(place)                                                                  \
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &(place),              \
         .metavar = "FILE",                                                                        \
         .help = "File with the DynamicSchedulerPolicy to use; - for standard input. Default: the " \
                 "object named default in the cluster, or the policy that the controllers use if " \
                 "that object is missing or invalid."}
/* clang-format on */

#define CLUSTER_POLICY_OBJECT "DynamicSchedulerPolicy default"

/** cluster_policy_read() - read a policy from a file
 * @path: "-": standard input. Standard input and pipes can be read only once */
_must_check_ int cluster_policy_read(const char *path, struct policy **ret, struct error *err);

/** cluster_policy_from_object() - read a policy from a DynamicSchedulerPolicy */
_must_check_ int cluster_policy_from_object(const json_t *object, struct policy **ret,
                                            struct error *err);

/**
 * cluster_policy_kept() - the policy in force if the cluster's object is missing or invalid. A
 * controller keeps its previous policy, so the first one that answers is asked. If none answers,
 * this is the built-in policy
 * @namespace: of the controllers
 * @ret_from:  the origin of the policy, for people; owned by the caller
 */
struct policy *cluster_policy_kept(struct cluster *cluster, const char *namespace, char **ret_from);

/**
 * cluster_policy_load() - from @path, or from the cluster if that is NULL
 * @namespace: of the programs
 * @ret_from:  CLUSTER_POLICY_OBJECT, the file's name, or the origin and why it is not the object
 * Return: 0; negative errno if the policy cannot be read, or the file is invalid
 */
_must_check_ int cluster_policy_load(struct cluster *cluster, const char *path,
                                     const char *namespace, struct policy **ret, char **ret_from,
                                     struct error *err);
