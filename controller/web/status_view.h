/*
 * The data of the status page, as one JSON object: the policy in force, nodes, sources and
 * failures. Pure: the state and the clocks are arguments. controller/README.md describes the
 * members.
 *
 * All nodes are counted. Of more than STATUS_VIEW_MAX_NODES, those nearest to a limit are written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "controller/source/source.h"
#include "controller/track/node_track.h"

enum {
        STATUS_VIEW_MAX_NODES = 5000,
        STATUS_VIEW_STEPS = 30, /* of a node's history: an hour */
        STATUS_VIEW_STEP_MS = 120000,
        STATUS_VIEW_MAX_RESOURCES = 8, /* with a history */
        STATUS_VIEW_MAX_GROUPS = 32,   /* of failures; nodes in further groups are only counted */
        STATUS_VIEW_MAX_LABELS_BYTES = 1024, /* of a node; further labels are left out */
        STATUS_VIEW_EXAMPLES = 5,            /* nodes in a group that are named */
};

/* Strings and the track are borrowed. */
struct status_node {
        const char *name;
        const char *closed_by; /* of node_closed_by() */
        const struct kept_texts *labels;
        const struct node_track *track;
        struct plan_values values;
        unsigned taint_level; /* how many of our taints the node carries */
        /* Bound pods, and those of which it is measured what they use; 0 with other scoring than
         * estimate. */
        size_t pods, measured_pods;
        /* With spec.idle. The offer rises up to the room; negative: not known. */
        double idle_offered_cores, idle_room_cores, idle_taken_cores, idle_used_cores;
};

/* All borrowed. */
struct status_head {
        const struct compiled_policy *compiled;
        const struct source_spec *sources; /* [source] */
        const char *role;                  /* "writer", "standby" or "dry run" */
        bool is_ready;
        const char *checks; /* lines of health_write_ready() */
        int64_t now_mono_ms, now_unix_ms;
        size_t node_count;
        /* Describe node number @index < node_count; called twice for a node that is written. */
        void (*describe)(void *userdata, size_t index, struct status_node *ret);
        void *userdata;
};

/** status_view_write() - append the object; the caller checks the overflow of @out */
void status_view_write(const struct status_head *head, struct buf *out);
