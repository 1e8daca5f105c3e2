/* The policy to judge by: a file, or the one that the programs have in force. */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"
#include "policy/policy.h"

/* clang-format off */
#define CLUSTER_POLICY_ROW(place)                                                                  \
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &(place),              \
         .metavar = "FILE",                                                                        \
         .help = "File with the DynamicSchedulerPolicy to judge by; - for standard input. "        \
                 "Default: the cluster's object named default, or without one the built-in "       \
                 "policy, as the programs do."}
/* clang-format on */

/**
 * cluster_policy_read() - read a file
 * @path: "-": standard input. That, and a pipe, can be read only once
 * @ret:  owned by the caller
 */
_must_check_ int cluster_policy_read(const char *path, char **ret, size_t *ret_len,
                                     struct error *err);
/** cluster_policy_parse() - parse the text of a file
 * @path: for errors */
_must_check_ int cluster_policy_parse(const char *path, const char *text, size_t len,
                                      struct policy **ret, struct error *err);

/** cluster_policy_from_object() - the policy of a DynamicSchedulerPolicy */
_must_check_ int cluster_policy_from_object(const json_t *object, struct policy **ret,
                                            struct error *err);

/**
 * cluster_policy_load() - the policy of the file @path, or of the cluster if that is NULL
 * @ret_from: where it is from, for people; owned by the caller
 * Return: 0; negative errno if it cannot be read or is refused
 */
_must_check_ int cluster_policy_load(struct cluster *cluster, const char *path, struct policy **ret,
                                     char **ret_from, struct error *err);
