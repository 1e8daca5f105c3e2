/*
 * The controller's state: private to controller.c, which takes in what sources and the API server
 * say, and writing.c, which decides when a node is written.
 */
#pragma once

#include "controller/controller.h"
#include "controller/node/bindings.h"
#include "controller/once.h"
#include "controller/status/census.h"
#include "controller/status/serving.h"
#include "controller/writing/publisher.h"
#include "program/outage_log.h"

/* A patch that is under way: what it says, to be remembered when it has arrived. */
struct pending {
        struct plan_choice choice;
        struct plan_values values;
        int64_t at_unix_ms;
        uint64_t generation; /* of the policy whose indices these are */
};

/* A node with what is known of it; node->userdata. */
struct tracked {
        struct publisher_job job; /* its first member */
        struct controller *controller;
        struct node *node;
        struct node_track track;
        struct loop_timer sync;
        struct pending *pending;
        uint32_t usable; /* number of metrics, at the last reading */
        bool is_patch_failing;
        int64_t turn_unix_ms; /* of the last sync, whether it was ours to write or not; 0: none */
        int64_t patch_not_before_mono_ms; /* after a failure */
};

struct controller {
        struct controller_parts parts;
        struct controller_options options;
        struct compiled_policy *compiled;
        uint64_t generation;
        struct node_set *nodes;
        struct source_set *sources;
        int64_t interval_ms; /* the shortest of the sources' */
        struct bindings *bindings;
        struct publisher *publisher; /* NULL: nothing is written */
        struct leader *leader;

        struct loop_timer tick, print, deadline;
        unsigned ticks;
        struct outage_log patch_outages;
        size_t node_width; /* of the longest name seen */
        struct once once;
        bool is_stopping;
        int exit_code;

        struct census census;
        struct serving serving;
        struct metric *patch_keys, *unchanged, *sample_age;
};

static inline int64_t controller_now_mono_ms(const struct controller *c) {
        return loop_now_mono_ms(c->parts.loop);
}

static inline int64_t controller_now_unix_ms(const struct controller *c) {
        return loop_now_unix_ms(c->parts.loop);
}

/* The next node from *slot on; NULL at the end. */
static inline struct tracked *next_tracked(const struct controller *c, size_t *slot) {
        while (*slot < node_set_slots(c->nodes)) {
                struct node *node = node_set_at(c->nodes, (*slot)++);
                if (node)
                        return node->userdata;
        }
        return NULL;
}

#define TRACKED_FOREACH(t, c) for (size_t slot_ = 0; ((t) = next_tracked((c), &slot_)) != NULL;)

/** tracked_values() - what could be written on the node now */
void tracked_values(const struct tracked *t, struct plan_values *ret);
