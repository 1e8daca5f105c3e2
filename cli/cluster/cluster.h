/*
 * The API server, for a program that a person has started: every call waits for its answer. This is
 * the one place that runs the event loop for that.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kube_api.h"
#include "kube/list_page.h"
#include "program/options.h"

/* The values of CLUSTER_ROWS; cluster_open() sets the rest, so that it behaves as kubectl. */
struct cluster_options {
        struct kube_access_options kube;
        struct option_list as_groups;
        const char *request_timeout; /* as kubectl reads it */
};

/* clang-format off */
/* The first row ends the --help of a verb. The program's own --help lists the following ones, once
 * for all verbs. */
#define CLUSTER_ROWS(o)                                                                            \
        {.type = OPTION_BOOL},                                                                     \
        {.name = "kubeconfig", .type = OPTION_STRING, .value = &(o).kube.kubeconfig,               \
         .metavar = "FILE",                                                                        \
         .help = "kubeconfig file. Default: $KUBECONFIG, else ~/.kube/config, else the pod's "     \
                 "service account."},                                                              \
        {.name = "context", .type = OPTION_STRING, .value = &(o).kube.choice.context,              \
         .metavar = "NAME",                                                                        \
         .help = "Context of the kubeconfig to use. Default: its current-context."},               \
        {.name = "cluster", .type = OPTION_STRING, .value = &(o).kube.choice.cluster,              \
         .metavar = "NAME", .help = "Cluster of the kubeconfig, instead of the context's."},       \
        {.name = "user", .type = OPTION_STRING, .value = &(o).kube.choice.user, .metavar = "NAME", \
         .help = "User of the kubeconfig, instead of the context's."},                             \
        {.name = "token", .type = OPTION_STRING, .value = &(o).kube.token, .metavar = "TOKEN",     \
         .help = "Bearer token to send, instead of the credentials that the kubeconfig has."},       \
        {.name = "as", .type = OPTION_STRING, .value = &(o).kube.as, .metavar = "NAME",            \
         .help = "User to impersonate, such as system:serviceaccount:NAMESPACE:NAME."},            \
        {.name = "as-group", .type = OPTION_LIST, .value = &(o).as_groups, .metavar = "NAME",      \
         .help = "Group to impersonate, with --as; repeatable."},                                  \
        {.name = "certificate-authority", .type = OPTION_STRING, .value = &(o).kube.ca_file,       \
         .metavar = "FILE", .help = "CA certificates of the API server, instead of the "           \
                                    "kubeconfig's."},                                              \
        {.name = "insecure-skip-tls-verify", .type = OPTION_BOOL, .value = &(o).kube.is_insecure,  \
         .help = "Trust any certificate of the API server."},                                      \
        {.name = "server", .letter = 's', .type = OPTION_STRING, .value = &(o).kube.master,        \
         .metavar = "URL", .help = "URL of the API server; overrides the kubeconfig."},            \
        {.name = "request-timeout", .type = OPTION_STRING, .value = &(o).request_timeout,          \
         .fallback = "30s", .metavar = "DURATION",                                                 \
         .help = "How long one request to the API server may take: a duration, or seconds; 0 for " \
                 "no limit."}
/* clang-format on */

struct cluster;

/** cluster_open() - find the credentials; nothing is sent. Return: see kube_access_load() */
_must_check_ int cluster_open(const struct cluster_options *options, struct cluster **ret,
                              struct error *err);
/** cluster_namespace() - the context's namespace; "default" if it has none */
const char *cluster_namespace(const struct cluster *cluster);
/** cluster_loop(), cluster_api(), cluster_metrics() - for watches, which run while a call or
 * cluster_pause() waits */
struct loop *cluster_loop(const struct cluster *cluster);
struct kube_api *cluster_api(const struct cluster *cluster);
struct metrics *cluster_metrics(const struct cluster *cluster);
void cluster_free(struct cluster *cluster);
DEFINE_FREEP(struct cluster, cluster_free);

struct cluster_answer {
        enum kube_outcome outcome;
        struct error err; /* set unless KUBE_OK; without the path */
        char *body;       /* owned; NULL unless KUBE_OK */
        size_t body_bytes;
};

/** cluster_call() - send @request and wait
 * @request: its timeout, on_done and userdata are set here */
void cluster_call(struct cluster *cluster, const struct kube_request *request,
                  struct cluster_answer *ret);
void cluster_answer_done(struct cluster_answer *answer);

/**
 * cluster_get() - get an object
 * @ret: owned by the caller; NULL unless KUBE_OK
 * Return: KUBE_OK, or another outcome with the path in @err
 */
enum kube_outcome cluster_get(struct cluster *cluster, const char *path, json_t **ret,
                              struct error *err);
struct cluster_listing {
        const char *path;                  /* may have a query */
        const char *accept;                /* NULL: application/json */
        const struct proto_message *proto; /* the fields to read from objects in protobuf */
        /* The list begins, or begins again because it expired between two pages: then forget what
         * on_item was called with. */
        void (*on_begin)(void *userdata);
        list_item_fn *on_item; /* also for objects before a failure */
        void *userdata;
};

/** cluster_list() - get all objects of a list, page by page. Return: as cluster_get() */
enum kube_outcome cluster_list(struct cluster *cluster, const struct cluster_listing *listing,
                               struct error *err);

/**
 * cluster_offer_names() - for completion: print the names of some hundred objects, one per line;
 * nothing if they cannot be listed
 * @before: printed before each name
 * @typed:  what each line must begin with, @before included
 */
void cluster_offer_names(struct cluster *cluster, const char *path, const char *before,
                         const char *typed, FILE *out);

/** cluster_pause() - wait, and let watches run */
void cluster_pause(struct cluster *cluster, int64_t pause_ms);
