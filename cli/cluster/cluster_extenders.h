/* The extenders of an installation, and their pages through the API server's proxy. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "cli/cluster/cluster.h"

/* clang-format off */
#define CLUSTER_EXTENDERS_ROW(place)                                                               \
        {.name = "plimsoll-namespace", .type = OPTION_STRING, .value = &(place),                   \
         .fallback = "kube-system", .metavar = "NAME", .variable = "PLIMSOLL_NAMESPACE",            \
         .help = "Where Plimsoll is installed: its extenders are asked."}
/* clang-format on */

struct cluster_extenders {
        const char *namespace; /* borrowed */
        json_t *pods;          /* owned; all pods of Plimsoll in it */
        bool has_loopback;     /* an extender is beside a second scheduler */
};

/**
 * cluster_extenders_find() - find the extenders of an installation
 * @namespace: where Plimsoll is installed
 * @ret:        to be released with cluster_extenders_done(), also on failure
 * Return: 0; negative errno when the pods cannot be listed
 */
_must_check_ int cluster_extenders_find(struct cluster *cluster, const char *namespace,
                                        struct cluster_extenders *ret, struct error *err);
void cluster_extenders_done(struct cluster_extenders *extenders);

/**
 * cluster_extenders_fn: what an extender answered
 * @pod:    its name, borrowed
 * @answer: an object, owned by the callee
 * Return: whether to ask the next one
 */
typedef bool cluster_extenders_fn(void *userdata, const char *pod, json_t *answer);

/**
 * cluster_extenders_ask() - ask one extender after the other
 * @page: with its query
 * Return: why none, or not every one that was asked, has answered; owned by the caller. NULL: all
 * have
 */
char *cluster_extenders_ask(struct cluster *cluster, const struct cluster_extenders *extenders,
                            const char *page, cluster_extenders_fn *on_answer, void *userdata);

/**
 * cluster_estimate() - the page /estimate of the first extender that answers
 * @ret_from: which extender it is, or why none has answered, for people; owned by the caller
 * Return: owned by the caller; NULL: none has answered
 */
json_t *cluster_estimate(struct cluster *cluster, const char *namespace, char **ret_from);
