/*
 * Keeps what nodes offer to batch pods (track/idle_offer.h) in their status, as long as the policy
 * has spec.idle; without it, takes it away.
 *
 * An offer is the extended resource KUBE_IDLE_RESOURCE, in status.capacity, and in
 * status.allocatable, to which a kubelet would copy it in its own time. kube-scheduler subtracts
 * what pods request from it, as for any extended resource. Nothing is evicted when it falls.
 *
 * As with taints (taint_writer.h), what a node carries is read from the watch: so a replica begins
 * with the offers that its predecessor left, and one that a kubelet has reset is written again. A
 * node that is not read offers nothing, nor does any before all pods have been listed
 * (node/idle_pods.h). One that is read, but has no value, keeps its offer for a while: perhaps it
 * turns to another source. (The API server writes 4000 as 4k: what is carried is read as a
 * quantity.)
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/track/idle_offer.h"
#include "controller/track/node_track.h"
#include "controller/writing/publisher.h"

/* Its part of a node; embedded in its owner, which may read `carried_milli`. */
struct idle_node {
        struct publisher_job job; /* its first member */
        const struct node *node;
        const struct node_track *track;
        struct idle_offer offer;
        int64_t carried_milli;   /* what the node offers now; may be IDLE_OFFER_NONE */
        bool is_odd;             /* it is no whole number, or capacity and allocatable differ */
        int64_t next_milli;      /* what the patch in flight says */
        int64_t awaited_mono_ms; /* until then a node that is not read keeps its offer */
        int64_t rises_mono_ms;   /* not before */
};

/** idle_writer_new() - the kind of patches that offers are */
struct patch_kind *idle_writer_new(struct publisher *publisher);

/** idle_writer_replan() - the track has another policy */
void idle_writer_replan(struct idle_node *idle);
/** idle_writer_lead() - this replica writes from now on. Until the node has had time to be read, it
 * keeps its offer: a standby asks some sources less often */
void idle_writer_lead(struct idle_node *idle);

/** idle_writer_add() - @node and @track are borrowed until publisher_remove() of the job */
void idle_writer_add(struct patch_kind *offers, struct idle_node *idle, const struct node *node,
                     const struct node_track *track);
/** idle_writer_seen() - @status: the Node's; may be NULL or hold anything */
void idle_writer_seen(struct idle_node *idle, const json_t *status);
/** idle_writer_update() - the node has been read: @values */
void idle_writer_update(struct idle_node *idle, const struct plan_values *values);
/** idle_writer_tick() - every second or so: decide, and queue patches if this replica @may_write */
void idle_writer_tick(struct patch_kind *offers, bool may_write);

/** idle_writer_patch() - append the merge patch of a Node's status to @offered_milli, which may be
 * IDLE_OFFER_NONE; false when not all of it fits
 * @uid: of the only Node that it changes; NULL: of any of the name */
bool idle_writer_patch(const char *uid, int64_t offered_milli, struct buf *out);
/** idle_writer_carried() - what a Node with this @status offers; IDLE_OFFER_NONE: nothing
 * @ret_is_odd: see struct idle_node */
int64_t idle_writer_carried(const json_t *status, bool *ret_is_odd);
