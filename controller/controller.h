/*
 * The controller: nodes from the API server (or --target), readings from sources, one plan per
 * node, patches through the writer. Everything runs on the loop's thread; pages are served from
 * another one, which reads only what this one publishes.
 *
 * Nothing has to be saved on exit: the annotations are the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/exposition/node_network.h"
#include "controller/node/node_set.h"
#include "controller/print/printout.h"
#include "controller/source/source_list.h"
#include "controller/track/node_track.h"
#include "daemon/daemon.h"
#include "kube/lease.h"
#include "policy/live/policy_source.h"
#include "program/options.h"

/* Strings are borrowed for the life of the controller. */
struct controller_options {
        struct compiled_policy_options compiled; /* its sources are derived from those below */
        const struct source_list *sources;       /* borrowed until controller_set_sources() */
        struct node_network_options network;
        struct node_set_options nodes;
        const char *node_selector;  /* NULL: every node */
        struct option_list targets; /* NAME=URL; none: nodes come from the API server */
        double patches_per_s;
        bool is_elected;            /* not with a dry run or --once */
        struct lease_options lease; /* of the election; but for its identity and events */
        bool is_dry_run;            /* print instead of writing */
        bool has_events;            /* not with a dry run or --once */
        bool has_node_metrics;      /* series of each node on the /metrics page */
        bool has_query_api;         /* controller_node_series() is not NULL */
        bool is_once;               /* scrape every node twice, write or print, exit */
        int output;                 /* enum printout_format */
};

struct controller;

/* What it needs; borrowed. */
struct controller_parts {
        const struct daemon *daemon; /* without an API client only with targets and a dry run */
        struct http_client *scrape_client; /* is given the number of nodes */
        struct policy_source *policy;      /* whose status the replica that writes shows */
};

struct controller;

/**
 * controller_new() - starts at once; calls loop_stop() when it is done or shut down
 * @policy: owned by the controller, whatever the outcome
 * Return: 0; -EINVAL for an invalid target
 */
_must_check_ int controller_new(const struct controller_parts *parts,
                                const struct controller_options *options, struct policy *policy,
                                struct controller **ret, struct error *err);
void controller_free(struct controller *controller);
DEFINE_FREEP(struct controller, controller_free);

/** controller_set_policy() - put another policy in force; metrics that both policies have keep
 * their windows and records. One with other pools waits until nodes have been listed again. @policy
 * is owned by the controller */
void controller_set_policy(struct controller *controller, struct policy *policy);
/** controller_set_sources() - run others; those that there were before keep their windows. @list is
 * borrowed, the one before it is not any more */
void controller_set_sources(struct controller *controller, const struct source_list *list);
/** controller_node_series() - for query_api.h; NULL when it is switched off */
struct node_series *controller_node_series(const struct controller *controller);
/** controller_write_status() - the status page's JSON (web/status_view.h); on the loop's
 * thread
 * @controller: a struct controller */
void controller_write_status(void *controller, struct buf *out);
/**
 * controller_shut_down() - stop scraping and patching; patches in flight may take up to 5 s
 *
 * The Lease is released when all of them have been answered. If one had to be abandoned, it may
 * still be applied, so the Lease is not released but left to expire.
 */
void controller_shut_down(struct controller *controller);
/** controller_exit_code() - 0; 1 when --once met a target that failed or a patch that was refused
 */
int controller_exit_code(const struct controller *controller);
