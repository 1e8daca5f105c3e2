/*
 * The controller: takes nodes from the API server (or --target), readings from sources, and writes
 * through the writer. Everything runs on the loop's thread. Another thread serves pages; it reads
 * only what this one publishes.
 *
 * Nothing is saved on exit: the annotations are the store.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/exposition/node_network.h"
#include "controller/node/node_set.h"
#include "controller/print/printout.h"
#include "controller/source/source_list.h"
#include "controller/track/node_track.h"
#include "controller/writing/writer.h"
#include "daemon/daemon.h"
#include "policy/live/policy_source.h"
#include "program/options.h"

/* Strings are borrowed for the life of the controller. */
struct controller_options {
        struct compiled_policy_options compiled; /* its sources are set from those below */
        const struct source_list *sources;       /* borrowed */
        const struct source_spec *kubelet;       /* how to read pods if no source is one; or NULL */
        struct node_network_options network;
        struct node_set_options nodes;
        const char *node_selector;     /* NULL: every node */
        struct option_list targets;    /* NAME=URL; none: nodes come from the API server */
        struct writer_options writing; /* without daemon and callbacks */
        bool has_node_metrics;         /* series of each node on the /metrics page */
        bool is_once;                  /* in a dry run: read every node twice, print, exit */
        int output;                    /* enum printout_format */
};

/* Borrowed. */
struct controller_parts {
        const struct daemon *daemon; /* has an API client, unless there are targets */
        struct http_client
                *scrape_client;       /* its requests in flight are set from the number of nodes */
        struct policy_source *policy; /* the leader writes its status */
};

struct controller;

/**
 * controller_new() - start; calls loop_stop() when it has finished or is shut down
 * @policy: consumed, whatever the outcome
 * Return: 0; -EINVAL for an invalid target
 */
_must_check_ int controller_new(const struct controller_parts *parts,
                                const struct controller_options *options, struct policy *policy,
                                struct controller **ret, struct error *err);
void controller_free(struct controller *controller);
DEFINE_FREEP(struct controller, controller_free);

/** controller_set_policy() - put another policy in force. Metrics that both policies have keep
 * their windows. Consumes @policy */
void controller_set_policy(struct controller *controller, struct policy *policy);
/** controller_write_pods() - write the page /pods of a node, on the loop's thread; @controller is a
 * struct controller */
void controller_write_pods(void *controller, const char *node, struct buf *out);
/** controller_write_status() - write the status page's JSON, on the loop's thread; @controller is a
 * struct controller */
void controller_write_status(void *controller, struct buf *out);
/**
 * controller_shut_down() - stop scraping and patching; patches in flight get up to 5 s
 *
 * The Lease is released when all of them have been answered. A patch that is abandoned may still be
 * applied, so the Lease is then left to expire.
 */
void controller_shut_down(struct controller *controller);
/** controller_exit_code() - 0; 1: --once could not read a node */
int controller_exit_code(const struct controller *controller);
