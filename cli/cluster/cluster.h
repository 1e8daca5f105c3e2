/*
 * The API server, for a program that a person runs: every call waits for its answer. Only this file
 * runs the event loop for that.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/kubectl.h"
#include "kube/kube_api.h"
#include "kube/list_page.h"
#include "program/options.h"

/* The values of CLUSTER_ROWS. */
struct cluster_options {
        struct kubectl_flags kubectl;
        int64_t request_timeout_ms; /* 0: the default */
        const char *extender;       /* URL; NULL: those in the cluster */
        const char *plimsoll_namespace;
};

/* clang-format off */
/* The first row ends the --help of a verb. The program's own --help lists the others once for all
 * verbs. */
#define CLUSTER_ROWS(o)                                                                            \
        {.type = OPTION_BOOL},                                                                     \
        KUBECTL_ROWS((o).kubectl),                                                                 \
        {.name = "request-timeout", .type = OPTION_DURATION_MS,                                    \
         .value = &(o).request_timeout_ms, .fallback = "0s", .max = INT32_MAX,                     \
         .help = "Time limit of one request to the API server, such as 5s. 0s: 30s, and an hour "  \
                 "for the first one, which may include a login."},                                 \
        {.name = "extender", .type = OPTION_STRING, .value = &(o).extender, .metavar = "URL",      \
         .help = "Ask the extender at this address, such as http://127.0.0.1:8010, not those in "  \
                 "the cluster."}
/* clang-format on */

struct cluster;

/** cluster_open() - connect through kubectl, or with the pod's service account if no flag and no
 * kubeconfig names a cluster. Sends nothing. @options: borrowed, and outlives the cluster.
 * Return: 0; -EX_USAGE for a bad flag; negative errno */
_must_check_ int cluster_open(const struct cluster_options *options, struct cluster **ret,
                              struct error *err);
/** cluster_extender() - that of --extender, whose paths are such as "/nodes"; NULL: none */
struct cluster *cluster_extender(const struct cluster *cluster);
/** cluster_plimsoll_namespace() - where Plimsoll is installed */
const char *cluster_plimsoll_namespace(const struct cluster *cluster);
/** cluster_server() - its URL */
const char *cluster_server(const struct cluster *cluster);
/** cluster_new() - for a known server; @access is consumed */
struct cluster *cluster_new(struct kube_access *access);
/** cluster_check() - can calls still succeed? Return: 0; -EPIPE if kubectl has ended */
_must_check_ int cluster_check(struct cluster *cluster, struct error *err);
/** cluster_namespace() - the context's namespace, or "default"; owned by the caller */
char *cluster_namespace(const struct cluster *cluster);
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
 * cluster_send() - send @body as JSON, and wait
 * @request: its body and what cluster_call() sets are set here
 * @body: NULL: none
 * @ret: the answer, owned by the caller, not touched unless KUBE_OK; NULL: it does not matter
 * Return: KUBE_OK, or another outcome with method and path in @err
 */
enum kube_outcome cluster_send(struct cluster *cluster, const struct kube_request *request,
                               const json_t *body, json_t **ret, struct error *err);
/** cluster_send_rows() - the same, but with json_parse_rows(); @rows: its @key */
enum kube_outcome cluster_send_rows(struct cluster *cluster, const struct kube_request *request,
                                    const json_t *body, const char *rows, json_t **ret,
                                    struct error *err);
/**
 * cluster_get() - get an object
 * @ret: owned by the caller; NULL unless KUBE_OK
 * Return: KUBE_OK, or another outcome with the path in @err
 */
enum kube_outcome cluster_get(struct cluster *cluster, const char *path, json_t **ret,
                              struct error *err);
struct cluster_listing {
        const char *path;                  /* may have a query */
        const struct proto_message *proto; /* the fields to read in protobuf; NULL: JSON */
        list_item_fn *on_item;             /* also called for objects before a failure */
        void *userdata;
};

/** cluster_list() - get all objects of a list, page by page. A list that takes longer than the API
 * server remembers it, some minutes, fails with KUBE_GONE. Return: as cluster_get() */
enum kube_outcome cluster_list(struct cluster *cluster, const struct cluster_listing *listing,
                               struct error *err);

/**
 * cluster_list_all() - the same, as one array of objects
 * @proto: the fields to read; NULL: all
 * @ret:   owned by the caller, not touched unless KUBE_OK
 */
enum kube_outcome cluster_list_all(struct cluster *cluster, const char *path,
                                   const struct proto_message *proto, json_t **ret,
                                   struct error *err);

/** cluster_pause() - wait while watches run */
void cluster_pause(struct cluster *cluster, int64_t pause_ms);
