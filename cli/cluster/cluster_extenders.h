/* The extenders of an installation and their pages, through the API server's proxy; or the one of
 * --extender, directly. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"

/* clang-format off */
#define CLUSTER_EXTENDERS_ROW(place)                                                               \
        {.name = "plimsoll-namespace", .type = OPTION_STRING, .value = &(place),                   \
         .fallback = "kube-system", .metavar = "NAME", .variable = "PLIMSOLL_NAMESPACE",            \
         .help = "Namespace where Plimsoll is installed."}
/* clang-format on */

struct cluster_extenders {
        struct cluster *cluster; /* borrowed */
        const char *namespace;   /* borrowed */
        json_t *pods;            /* the extenders' pods, owned */
        bool has_loopback;       /* a second scheduler's pod runs an extender */
        struct error err;        /* why the pods cannot be listed; code 0: they can */
};

/**
 * cluster_extenders_find() - find the extenders of an installation
 * @namespace: where Plimsoll is installed
 * @ret:       released with cluster_extenders_done(); without pods if these cannot be listed
 */
void cluster_extenders_find(struct cluster *cluster, const char *namespace,
                            struct cluster_extenders *ret);
void cluster_extenders_done(struct cluster_extenders *extenders);

/* A page that is read from one extender after the other. */
struct cluster_question {
        const struct cluster_extenders *extenders;
        const char *page; /* with its query */
        const char *body; /* of a POST; NULL: GET */
        /* Set by cluster_question_next(). */
        size_t next, asked_count;
        const char *from; /* the last that was asked: its pod or URL, borrowed */
        char *why_not;    /* why an extender did not answer; owned by the caller. NULL: all did */
};

/** cluster_question_next() - the JSON object from the next extender that answers
 * Return: owned by the caller; NULL: there are no more */
json_t *cluster_question_next(struct cluster_question *question);

/**
 * cluster_ask() - what the first extender that answers says on /nodes or /explain
 * @page: without a leading slash
 * @body: of a POST; NULL: GET
 * @ret: has members `nodes` and `policy` of the version that this plugin knows; owned by the caller
 * @ret_from: for people: the extender and the time; owned by the caller
 * Return: 0; -ENODATA: none answers, or it is of another version
 */
_must_check_ int cluster_ask(struct cluster *cluster, const char *namespace, const char *page,
                             const json_t *body, json_t **ret, char **ret_from, struct error *err);
