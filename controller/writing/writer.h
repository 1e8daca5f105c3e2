/*
 * Patches nodes: their annotations with what is due (plan_due.h), their taints (taint_writer.h) and
 * their offers of idle CPU (idle_writer.h). Each reading of a node says what is due on it: the
 * writer pushes it to the publisher, whose queue holds a node once at most. What is written is
 * decided again when the patch is sent.
 *
 * Only the replica that leads patches: with leader election the one that holds the Lease, without
 * election every one, in a dry run none. One that begins to lead takes the turns again that its
 * predecessor may have missed: those since that was last known to be alive.
 *
 * Owns the publisher and the leader election, with the check `leader` of /readyz, which passes on a
 * standby too. Everything runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/track/node_track.h"
#include "controller/writing/idle_writer.h"
#include "controller/writing/publisher.h"
#include "controller/writing/taint_writer.h"
#include "kube/kube_api.h"
#include "kube/lease.h"

struct writer;
struct writer_patch;

/* The writer's part of a node; embedded in its owner, which may read what taints
 * and idle say that the node carries. */
struct writer_node {
        struct publisher_job job; /* its first member */
        struct writer *writer;
        struct node_track *track;
        struct taint_node taints;
        struct idle_node idle;
        struct writer_patch *pending; /* in flight, of the policy in force; NULL: none */
        int64_t taken_unix_ms;        /* turns until then have been taken, also by a standby */
};

struct writer_options {
        const struct daemon *daemon; /* without an API client only in a dry run */
        bool is_elected;
        struct lease_options lease; /* of the election; but for its identity and events */
        double patches_per_s;
        bool is_dry_run; /* nothing is ever written */
        bool has_turns;  /* false: nodes are patched by writer_push_all() only */

        /* What could be written on @node now. */
        void (*values)(void *userdata, const struct writer_node *node, struct plan_values *ret);
        /* writer_is_active() has changed. */
        void (*on_active)(void *userdata);
        void *userdata;
};

/** writer_new() - @compiled is borrowed until writer_set_policy() gives another */
struct writer *writer_new(const struct writer_options *options,
                          const struct compiled_policy *compiled);
/** writer_free() - after every node has been removed */
void writer_free(struct writer *writer);

/** writer_set_policy() - another policy; the turns of all nodes follow it from now on */
void writer_set_policy(struct writer *writer, const struct compiled_policy *compiled);

/** writer_add() - @of and @track are borrowed until writer_remove() */
void writer_add(struct writer *writer, struct writer_node *node, const struct node *of,
                struct node_track *track);
/** writer_seen() - the Node is like this now; @object may hold anything */
void writer_seen(struct writer_node *node, const json_t *object);
/** writer_remove() - cancels the patch that is queued or in flight */
void writer_remove(struct writer_node *node);
/** writer_update() - the node has been read, and has these @values */
void writer_update(struct writer_node *node, const struct plan_values *values);
/** writer_push_all() - patch every node, with every usable value unless it has turns; not in a dry
 * run */
void writer_push_all(struct writer *writer);

/** writer_tick() - every second or so: readiness, and log lines that were held back
 * @is_policy_settled: policy_source_is_settled(); until then taints and offers stay as they are */
void writer_tick(struct writer *writer, bool is_policy_settled);
/** writer_is_active() - does this replica patch nodes now? */
bool writer_is_active(const struct writer *writer);
/** writer_budget_nodes() - the nodes that patches_per_s is enough for, see plan_due_nodes() */
size_t writer_budget_nodes(const struct writer *writer);
/** writer_is_idle() - no patch is queued or in flight */
bool writer_is_idle(const struct writer *writer);
/** writer_failing() - number of nodes whose last patch failed */
size_t writer_failing(const struct writer *writer);
/** writer_trouble() - why the last patches failed, for /readyz; "" when they did not; NULL when
 * nothing is ever written */
const char *writer_trouble(const struct writer *writer);
/** writer_fence() - for every request that writes; it closes when this replica no longer leads */
struct kube_fence writer_fence(const struct writer *writer);

/**
 * writer_stop() - begin no more patches; release the Lease when those in flight have been answered
 * @on_stopped: called once after that, possibly at once
 */
void writer_stop(struct writer *writer, lease_released_fn *on_stopped, void *userdata);
