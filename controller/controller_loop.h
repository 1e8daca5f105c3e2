/*
 * The state of the control loop, for the files controller*.c only. All of it is of the loop's
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/controller.h"
#include "controller/health/failover.h"
#include "controller/health/readiness.h"
#include "controller/node/bindings.h"
#include "controller/series/node_series.h"
#include "controller/track/load_history.h"
#include "controller/writing/writer.h"

struct controller {
        struct controller_parts parts;
        struct controller_options options;
        struct compiled_policy *compiled;
        struct policy *next_policy; /* to be in force when the nodes' pools are known; or NULL */
        struct node_set *nodes;
        struct source_set *sources;
        struct bindings *bindings;
        struct writer *writer;
        int64_t interval_ms; /* the shortest of the sources' */

        struct loop_timer tick, print, deadline;
        unsigned ticks;
        enum { ONCE_NOT, ONCE_READING, ONCE_WRITING, ONCE_DONE } once; /* of --once */
        bool is_late; /* --once: the deadline of reading has passed */
        bool is_stopping;
        int exit_code;

        struct readiness readiness;
        struct failover failover;
        struct node_series *series; /* NULL: none */
};

/* A node, what has been measured on it, and its place in the queue of patches. node->userdata. */
struct controller_node {
        struct writer_node writing; /* its first member */
        struct controller *controller;
        struct node *node;
        struct node_track track;
        struct load_history load;
        struct series_row *series;
        uint32_t usable; /* number of metrics, at the last reading */
};

/** controller_node_next() - the next node from *@slot on, which begins with 0; NULL at the end */
struct controller_node *controller_node_next(const struct controller *c, size_t *slot);
#define CONTROLLER_NODE_FOREACH(n, c)                                                              \
        for (size_t slot_ = 0; ((n) = controller_node_next((c), &slot_)) != NULL;)

/** controller_node_values() - what could be written on the node now */
void controller_node_values(const struct controller_node *n, struct plan_values *ret);
/** controller_node_switch() - to another source, if need be */
void controller_node_switch(struct controller_node *n);

static inline int64_t controller_now_mono(const struct controller *c) {
        return loop_now_mono_ms(c->parts.loop);
}
static inline int64_t controller_now_unix(const struct controller *c) {
        return loop_now_unix_ms(c->parts.loop);
}

/** controller_end() - the program ends with this status */
void controller_end(struct controller *c, int exit_code);

/* --once (controller_once.c): every node is scraped until it has two readings, the results are
 * written or printed, and the program exits. At the deadline, what there is is written; writing has
 * none, as long as patches succeed. */

enum { CONTROLLER_ONCE_OUTCOMES = 2 }; /* per node: an interval takes two scrapes */

/** controller_once_begin() - @longest_ms: the longest interval of the sources */
void controller_once_begin(struct controller *c, int64_t longest_ms);
/** controller_once_go_on() - something has changed; does nothing without --once */
void controller_once_go_on(struct controller *c);

/* What is shown of all nodes (controller_view.c). */

/** controller_view_print() - on standard output, by name */
void controller_view_print(struct controller *c);
/** controller_view_count() - gauges, checks of /readyz, Events of nodes that have fallen silent */
void controller_view_count(struct controller *c);
/** controller_view_publish() - the series of nodes */
void controller_view_publish(const struct controller *c);
