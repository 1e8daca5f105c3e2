/*
 * Patches nodes: annotations that are due (plan_due.h), taints (taint_writer.h) and offers of idle
 * CPU (idle_writer.h). After each reading of a node the writer pushes what is due to the publisher,
 * whose queue has a node at most once. What is written is decided again when the patch is sent.
 *
 * Only the leader patches: with leader election the holder of the Lease, without it every replica,
 * in a dry run none. A new leader repeats the turns that its predecessor may have missed: those
 * since it was last known to be alive.
 *
 * The writer owns the publisher and the leader election, and the check `leader` of /readyz, which
 * also passes on a standby. Everything runs on the loop's thread.
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
#include "policy/usage/pod_usage_list.h"

struct writer;
struct writer_patch;

/* Embedded in the owner's node. The owner may read what the node carries from `taints` and `idle`.
 */
struct writer_node {
        struct publisher_job job;
        struct writer *writer;
        struct node_track *track;
        struct taint_node taints;
        struct idle_node idle;
        struct writer_patch *pending; /* in flight, under the policy in force; NULL: none */
        int64_t taken_unix_ms; /* turns until this time are over; a standby takes them as well */
};

struct writer_options {
        const struct daemon *daemon; /* has an API client, unless it is a dry run */
        bool is_elected;
        struct lease_options lease; /* without identity and events */
        double patches_per_s;
        bool is_dry_run; /* nothing is ever written */

        /* The present values of @node. */
        void (*values)(void *userdata, const struct writer_node *node, struct plan_values *ret);
        /* The annotation pod_usage of @node; "": it has none; false: it stays as it is. */
        bool (*pod_usage)(void *userdata, const struct writer_node *node,
                          char text[static POD_USAGE_TEXT_MAX]);
        /* writer_is_active() has changed. */
        void (*on_active)(void *userdata);
        void *userdata;
};

/** writer_new() - @compiled is borrowed until writer_set_policy() */
struct writer *writer_new(const struct writer_options *options,
                          const struct compiled_policy *compiled);
/** writer_free() - after every node has been removed */
void writer_free(struct writer *writer);

/** writer_set_policy() - follow another policy; @compiled is borrowed until the next call */
void writer_set_policy(struct writer *writer, const struct compiled_policy *compiled);

/** writer_add() - @target and @track are borrowed until writer_remove() */
void writer_add(struct writer *writer, struct writer_node *node, const struct node *target,
                struct node_track *track);
/** writer_seen() - take in the present Node; @object may hold anything */
void writer_seen(struct writer_node *node, const json_t *object);
/** writer_remove() - cancel what is queued or in flight, and remove the node */
void writer_remove(struct writer_node *node);
/** writer_update() - take in the values of a reading */
void writer_update(struct writer_node *node, const struct plan_values *values);

/** writer_tick() - call every second or so
 * @is_policy_settled: policy_source_is_settled(); taints and offers stay as they are until then */
void writer_tick(struct writer *writer, bool is_policy_settled);
/** writer_is_active() - does this replica patch nodes now? */
bool writer_is_active(const struct writer *writer);
/** writer_budget_nodes() - how many nodes patches_per_s is enough for, see plan_due_nodes() */
size_t writer_budget_nodes(const struct writer *writer);
/** writer_is_idle() - no patch is queued or in flight */
bool writer_is_idle(const struct writer *writer);
/** writer_trouble() - why the last patches failed, for /readyz; "" if they are fine; NULL in a dry
 * run */
const char *writer_trouble(const struct writer *writer);
/** writer_fence() - for every request that writes; closes when this replica no longer leads */
struct kube_fence writer_fence(const struct writer *writer);

/**
 * writer_stop() - begin no more patches; release the Lease when those in flight have been answered
 * @on_stopped: called once when that is done, possibly before this returns
 */
void writer_stop(struct writer *writer, lease_released_fn *on_stopped, void *userdata);
