/*
 * What the status page shows, as one JSON object: the policy in force, the nodes, the sources and
 * what fails. Pure: the state and the clocks are arguments. docs/status-page.md describes the
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
        STATUS_VIEW_MAX_RESOURCES = 8, /* that have a history */
        STATUS_VIEW_MAX_GROUPS = 32,   /* of failures; nodes of further ones are only counted */
        STATUS_VIEW_EXAMPLES = 5,      /* nodes that a group names */
};

/* Strings and the track are borrowed. */
struct status_node {
        const char *name;
        const char *closed_by;   /* as node_closed_by() */
        const char *labels_json; /* a JSON object; NULL: none */
        const struct node_track *track;
        struct plan_values values;
        unsigned taint_level; /* the number of our taints that it carries */
        /* With spec.idle. The room is what the offer rises to; what is negative is not known. */
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
        /* Node number @index, which is less than node_count; twice, if it is written. */
        void (*describe)(void *userdata, size_t index, struct status_node *ret);
        void *userdata;
};

/** status_view_write() - the caller looks at the buffer's overflow */
void status_view_write(const struct status_head *head, struct buf *out);
