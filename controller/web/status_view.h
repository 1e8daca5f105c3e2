/*
 * What the status page shows, as one JSON object: the policy in force, the nodes, the sources and
 * what fails. Pure: the state and the clocks are arguments. docs/http-api.md describes the
 * members.
 *
 *     status_view_begin(&view, &head, out);
 *     do {
 *             for each node: status_view_node(&view, &node);
 *     } while (status_view_again(&view));
 *     status_view_end(&view);
 *
 * Of more than STATUS_VIEW_MAX_NODES nodes, those nearest to a limit are written, and all are
 * counted; that takes a second pass. So does a policy that lets all nodes pass if all are above a
 * limit (whenAllOver).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "controller/source/source.h"
#include "controller/track/node_track.h"
#include "policy/estimate/estimate_terms.h"
#include "policy/verdict.h"

enum {
        STATUS_VIEW_MAX_NODES = 5000,
        STATUS_VIEW_STEPS = 30, /* of a node's history: an hour */
        STATUS_VIEW_STEP_MS = 120000,
        STATUS_VIEW_MAX_RESOURCES = 8, /* that have a history */
        STATUS_VIEW_MAX_GROUPS = 32,   /* of failures; nodes of further ones are only counted */
        STATUS_VIEW_EXAMPLES = 5,      /* nodes that a group names */
};

/* All borrowed until status_view_end(). */
struct status_head {
        const struct compiled_policy *compiled;
        const struct source_spec *sources; /* [source] */
        const char *role;                  /* "writer", "standby" or "dry run" */
        bool is_ready;
        const char *checks; /* lines of health_write_ready() */
        size_t node_count;
        int64_t now_mono_ms, now_unix_ms;
};

/* Name and track are borrowed until status_view_end(), the rest for the call. */
struct status_node {
        const char *name;
        const char *closed_by;   /* as node_closed_by() */
        const char *labels_json; /* a JSON object; NULL: none */
        const struct node_track *track;
        const struct plan_values *values;
        unsigned taint_level; /* the number of our taints that it carries */
        /* With spec.idle. The room is what the offer rises to; what is negative is not known. */
        double idle_offered_cores, idle_room_cores, idle_taken_cores, idle_used_cores;
};

enum status_verdict {
        STATUS_PASSES,
        STATUS_REJECTED, /* a predicate of the policy rejects it */
        STATUS_CLOSED,   /* only pods with a toleration get on it */
        STATUS_UNKNOWN,  /* it has no usable reading, so that it passes */
        STATUS_VERDICT_COUNT,
};

/* Nodes that one source fails on for one reason. */
struct status_group {
        size_t source;
        const char *reason;
        size_t nodes;
        const char *examples[STATUS_VIEW_EXAMPLES];
};

/* Private, but for its place on the caller's stack. */
struct status_view {
        struct status_head head;
        struct buf *out;
        struct estimate_terms terms[POLICY_MAX_POOLS + 1]; /* per pool */
        unsigned resources[STATUS_VIEW_MAX_RESOURCES];
        size_t resource_count;

        size_t verdicts[STATUS_VERDICT_COUNT];
        size_t served[SOURCE_MAX], failing[SOURCE_MAX];
        struct status_group groups[STATUS_VIEW_MAX_GROUPS];
        size_t group_count;
        size_t written;

        float *shares; /* of all nodes, in the first of two passes; NULL: there is one pass */
        size_t share_count;
        bool is_second;
        bool is_all_over;   /* and passes therefore */
        float least_share;  /* that is written */
        size_t least_count; /* nodes with that share that still fit */
};

void status_view_begin(struct status_view *view, const struct status_head *head, struct buf *out);
void status_view_node(struct status_view *view, const struct status_node *node);
/** status_view_again() - all nodes were handed in: true when they are wanted once more */
bool status_view_again(struct status_view *view);
/** status_view_end() - complete the text; the caller looks at the buffer's overflow */
void status_view_end(struct status_view *view);
