/*
 * The state of the control loop, used only by controller*.c and only on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_limit.h"
#include "controller/controller.h"
#include "controller/node/bindings.h"
#include "controller/pods/pod_set.h"
#include "controller/series/node_series.h"
#include "controller/writing/usage_store.h"
#include "program/outage_log.h"

/* Gauges of all nodes together, and the checks of /readyz (controller_health.c). */
struct controller_health {
        struct metrics_series *nodes, *stale, *windows, *oldest;
        struct metrics_series *served[SOURCE_MAX], *failing[SOURCE_MAX];
        struct metrics_series *idle_offered, *idle_taken, *idle_used;
        struct health_check *node_watch, *binding_watch, *pod_watch, *workloads, *scrapes, *writes,
                *sources, *clock;
        bool is_clock_wrong; /* as was logged last */
};

/* What has been logged about sources (controller_switch.c). */
struct controller_switches {
        struct log_limit limit; /* of switches */
        bool is_measure_logged[SOURCE_MAX];
        struct outage_log outages[SOURCE_MAX]; /* nodes that a source fails to read */
        struct metrics_series *counters[SOURCE_MAX][SOURCE_MAX]; /* of switches, from and to */
};

/* What pods use (controller_pods.c). */
struct controller_pods {
        struct pod_set *set;
        struct source_spec spec;     /* of the source `pods` */
        struct pod_metrics *metrics; /* NULL: metrics-server is no source */
        struct usage_store *store;   /* NULL: nothing is written */
        struct outage_log outages;
        int64_t next_tick_mono_ms;
        struct metrics_series *bound, *measured, *mixed, *failing;
};

/*
 * RUNNING, or with --once LISTING -> READING (controller_once.c). A signal leads to
 * STOPPING, until no request is in flight. ENDED: --once is done.
 */
enum controller_phase {
        CONTROLLER_RUNNING,
        CONTROLLER_LISTING,
        CONTROLLER_READING,
        CONTROLLER_STOPPING,
        CONTROLLER_ENDED,
};

struct controller {
        struct controller_parts parts;
        struct controller_options options;
        struct compiled_policy *compiled;
        struct node_set *nodes;
        struct source *sources[SOURCE_MAX + 1]; /* that run: options.sources, and the one of pods */
        size_t source_count;
        struct bindings *bindings;
        struct controller_pods pods;
        struct writer *writer;
        int64_t interval_ms;      /* the shortest of all sources */
        int64_t all_intervals_ms; /* the sum over all sources */

        struct loop_timer tick, print;
        unsigned ticks;
        enum controller_phase phase;
        struct loop_timer once_look;        /* LISTING and READING */
        size_t listed;                      /* nodes, of LISTING */
        int64_t give_up_mono_ms;            /* on this phase, unless it makes progress */
        struct loop_timer shutdown_timeout; /* STOPPING */
        int exit_code;

        struct controller_health health;
        struct controller_switches switches;
        struct node_series *series; /* NULL: --node-series=false */
};

/* A node with its track and its patches: node->userdata. */
struct controller_node {
        struct writer_node writing;
        struct controller *controller;
        struct node *node;
        struct node_track track;
        uint32_t usable; /* metrics with a value at the last reading */
        /* For the outage logs. */
        bool is_failing[SOURCE_MAX], is_pods_failing;
};

/** controller_node_next() - the next node; *@slot begins at 0; NULL: the end */
struct controller_node *controller_node_next(const struct controller *c, size_t *slot);
#define CONTROLLER_NODE_FOREACH(n, c)                                                              \
        for (size_t slot_ = 0; ((n) = controller_node_next((c), &slot_)) != NULL;)

/** controller_node_values() - the present values of a node */
void controller_node_values(const struct controller_node *n, struct plan_values *ret);
static inline int64_t controller_now_mono(const struct controller *c) {
        return loop_now_mono_ms(c->parts.daemon->loop);
}
static inline int64_t controller_now_unix(const struct controller *c) {
        return loop_now_unix_ms(c->parts.daemon->loop);
}

/** controller_end() - end the program with this status */
void controller_end(struct controller *c, int exit_code);

/* --once (controller_once.c): reads every node twice, prints the results, and exits. Listing may
 * take as long as it makes progress. Reading has a deadline; then the values that exist are
 * printed. */

enum { CONTROLLER_ONCE_OUTCOMES = 2 }; /* per node: an interval needs two scrapes */

/** controller_once_begin() - begin to look regularly, until everything is done */
void controller_once_begin(struct controller *c);

/* Which source serves a node, and which ones fail (controller_switch.c). The first switches and
 * failures in a minute are logged individually, the rest in a summary. */

enum { CONTROLLER_SWITCH_LINES_PER_MIN = 10 };

/** controller_switches_init() - register the counters of the sources */
void controller_switches_init(struct controller *c);
/** controller_node_switch() - switch the node to another source if necessary */
void controller_node_switch(struct controller_node *n);
/** controller_node_recovered() - source number @source has read the node */
void controller_node_recovered(struct controller_node *n, size_t source);
/** controller_node_failed() - source number @source has failed to read the node */
void controller_node_failed(struct controller_node *n, size_t source,
                            const struct source_failure *failure);
/** controller_switches_tick() - call every second or so: logs summaries that are due */
void controller_switches_tick(struct controller *c);

/* Whether nodes are watched, measured and written, and what to check if not
 * (controller_health.c). */

/** controller_node_idle() - a node's idle CPU; all 0 without spec.idle */
struct idle_use controller_node_idle(const struct controller_node *n);
/** controller_health_init() - register gauges and checks */
void controller_health_init(struct controller *c);
/** controller_health_count() - call every second or so: count all nodes, switch them to another
 * source if necessary, and report those that have become silent */
void controller_health_count(struct controller *c);

/* What pods use (controller_pods.c): the leader reads it from all kubelets, while the policy needs
 * it, whatever the source of nodes is. */

void controller_pods_init(struct controller *c);
void controller_pods_free(struct controller *c);
/** controller_pods_follow() - the policy has changed */
void controller_pods_follow(struct controller *c, const struct policy *policy);
/** controller_pods_sources() - the list of sources has changed; @parts as for the others */
void controller_pods_sources(struct controller *c, const struct source *parts);
/** controller_pods_stop() - read no more pods */
void controller_pods_stop(struct controller *c);
/** controller_pods_tick() - call it every second or so */
void controller_pods_tick(struct controller *c);
/** controller_pods_usage() - the annotation pod_usage; "": the node should have none; false: not
 * known, the node keeps what it has */
_must_check_ bool controller_pods_usage(const struct controller_node *n,
                                        char text[static POD_USAGE_TEXT_MAX]);

/* Showing each node (controller_view.c). */

/** controller_view_print() - print all nodes by name */
void controller_view_print(struct controller *c);
