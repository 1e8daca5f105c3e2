/* The extenders of an installation, and their pages through the API server's proxy. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "cli/cluster/cluster.h"

/* clang-format off */
#define CLUSTER_EXTENDERS_ROW(place)                                                               \
        {.name = "plimsoll-namespace", .type = OPTION_STRING, .value = &(place),                   \
         .fallback = "kube-system", .metavar = "NAME", .variable = "PLIMSOLL_NAMESPACE",            \
         .help = "Where Plimsoll is installed."}
/* clang-format on */

struct cluster_extenders {
        struct cluster *cluster; /* borrowed */
        const char *namespace;   /* borrowed */
        json_t *pods;            /* owned; of the extenders */
        bool has_loopback;       /* an extender is beside a second scheduler */
        struct error err;        /* why the pods cannot be listed; code 0: they were */
};

/**
 * cluster_extenders_find() - find the extenders of an installation
 * @namespace: where Plimsoll is installed
 * @ret:       released with cluster_extenders_done(); without pods if these cannot be listed
 */
void cluster_extenders_find(struct cluster *cluster, const char *namespace,
                            struct cluster_extenders *ret);
void cluster_extenders_done(struct cluster_extenders *extenders);

/* What the extenders are asked, one after the other. */
struct cluster_question {
        const struct cluster_extenders *extenders;
        const char *page; /* with its query */
        /* Set by cluster_question_next(). */
        size_t next, asked_count;
        const char *pod; /* the one that has answered last, borrowed */
        char *why_not;   /* why none, or not every one that was asked, has answered; owned by the
                            caller. NULL: all have */
};

/** cluster_question_next() - the answer of the next extender that gives one, an object
 * Return: owned by the caller; NULL: there is none any more */
json_t *cluster_question_next(struct cluster_question *question);

/**
 * cluster_estimate() - the page /estimate of the first extender that answers
 * @ret_from: which extender it is, or why none has answered, for people; owned by the caller
 * Return: owned by the caller; NULL: none has answered
 */
json_t *cluster_estimate(struct cluster *cluster, const char *namespace, char **ret_from);
