/* The policy in force: the cluster's object, as the programs follow it, else what they have in
 * force without one, or a file. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "policy/policy.h"

/* clang-format off */
#define CLUSTER_POLICY_ROW(place)                                                                  \
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &(place),              \
         .metavar = "FILE",                                                                        \
         .help = "File with the DynamicSchedulerPolicy to judge by; - for standard input. "        \
                 "Default: the cluster's object named default, or without one what the "           \
                 "controllers have in force."}
/* clang-format on */

/**
 * cluster_policy_read() - the text of a file, a pipe, or "-" for standard input, which can be read
 * once
 * @ret: owned by the caller
 */
_must_check_ int cluster_policy_read(const char *path, char **ret, size_t *ret_len,
                                     struct error *err);
/** cluster_policy_parse() - that text; @path is for errors */
_must_check_ int cluster_policy_parse(const char *path, const char *text, size_t len,
                                      struct policy **ret, struct error *err);

/** cluster_policy_from_object() - of a DynamicSchedulerPolicy */
_must_check_ int cluster_policy_from_object(const json_t *object, struct policy **ret,
                                            struct error *err);

/**
 * cluster_policy_kept() - what is in force without an object: the controllers keep the policy of
 * one that is deleted while they run, and one of them is asked; else it is the built-in policy
 * @namespace: where they are
 * @ret_from:  what it is, for people; owned by the caller
 */
struct policy *cluster_policy_kept(struct cluster *cluster, const char *namespace, char **ret_from);

/**
 * cluster_policy_load() - from @path, or if that is NULL from the cluster
 * @namespace: where the programs are
 * @ret_from:  as above
 * Return: 0; negative errno when it cannot be read or is refused
 */
_must_check_ int cluster_policy_load(struct cluster *cluster, const char *path,
                                     const char *namespace, struct policy **ret, char **ret_from,
                                     struct error *err);
