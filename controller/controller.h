/*
 * The controller's loop: nodes from the API server (or by hand), readings from sources, one plan
 * per node, patches through the publisher. Everything on one thread; the pages of health and
 * metrics are served from another, which reads atomics.
 *
 * Whatever happens, nothing has to be saved: the annotations are the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/node/node_set.h"
#include "controller/source_set.h"
#include "controller/status/report.h"
#include "controller/track/node_track.h"
#include "controller/writing/leader.h"
#include "metrics/metrics.h"
#include "net/health.h"

/* Strings are borrowed for the life of the controller. */
struct controller_options {
        struct compiled_policy_options compiled; /* their sources follow from those below */
        struct source_set_options sources;
        struct node_set_options nodes;
        const char *node_selector;  /* NULL: every node */
        const char *const *targets; /* NAME=URL; without them nodes come from the API server */
        size_t target_count;
        double patches_per_s;
        size_t patches_in_flight;
        struct leader_options leader; /* no election with a dry run or --once */
        bool is_dry_run;              /* print instead of writing */
        bool is_once;                 /* two scrapes of every node, write or print, end */
        enum report_format output;
};

struct controller;

/* What it works with; borrowed. */
struct controller_parts {
        /* controller_is_writer() has changed, after controller_new(); may be NULL. */
        void (*on_writer)(void *userdata);
        void *userdata;
        struct loop *loop;
        struct http_client *scrape_client; /* source_set_in_flight() at a time */
        struct kube_api *api;              /* NULL: no cluster, only with targets and a dry run */
        struct metrics *metrics;
        struct health *health;
};

/**
 * controller_new() - begins at once; ends with loop_stop() when it is done or shut down
 * @policy: owned by the controller from here on, whatever the outcome
 * Return: 0; -EINVAL for a target that is none
 */
_must_check_ int controller_new(const struct controller_parts *parts,
                                const struct controller_options *options, struct policy *policy,
                                struct controller **ret, struct error *err);
void controller_free(struct controller *controller);
DEFINE_FREEP(struct controller, controller_free);

/** controller_set_policy() - another policy from now on; windows and records of metrics that both
 * have are kept. @policy is owned by the controller */
void controller_set_policy(struct controller *controller, struct policy *policy);
/** controller_is_writer() - does this replica write now? */
bool controller_is_writer(const struct controller *controller);
/** controller_fence() - of all that is written because this replica does */
struct kube_fence controller_fence(const struct controller *controller);
/**
 * controller_shut_down() - nothing new begins; patches under way are waited for, 5 s at most
 *
 * The lease is given away when the last of them has been answered. One that was given up may still
 * arrive: then the lease runs out by itself, which leaves it the time to.
 */
void controller_shut_down(struct controller *controller);
/** controller_exit_code() - 0; 1 when --once met a target that failed or a patch that was refused
 */
int controller_exit_code(const struct controller *controller);
