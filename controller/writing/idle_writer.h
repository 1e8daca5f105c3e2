/*
 * Writes what nodes offer to batch pods (track/idle_offer.h) into their status while the policy has
 * spec.idle, and removes it otherwise.
 *
 * An offer is the extended resource KUBE_IDLE_RESOURCE, in status.capacity and in
 * status.allocatable, to which a kubelet would copy it some time later. kube-scheduler subtracts
 * what pods request from it, as for any extended resource. A lower offer evicts nothing.
 *
 * What a node carries is read from the watch, as in taint_writer.h: a new leader continues with its
 * predecessor's offers, and an offer that a kubelet has reset is written again. The API server
 * writes 4000 as 4k, so it is read as a quantity. A node without recent readings offers nothing,
 * and no node does before all pods have been listed (pods/pod_set.h). A node that is read, but
 * has no value, keeps its offer for a grace period, in which another source may take over.
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

/* Embedded in the owner's node, which may read `carried_milli`. */
struct idle_node {
        struct publisher_job job;
        const struct node *node;
        const struct node_track *track;
        struct idle_offer offer;
        int64_t carried_milli;     /* what the node offers now; may be IDLE_OFFER_NONE */
        bool is_odd;               /* not a whole number, or capacity and allocatable differ */
        int64_t next_milli;        /* what the patch in flight says */
        int64_t next_rise_mono_ms; /* the offer does not rise before */
};

/** idle_writer_new() - adds a kind of patches to @publisher */
struct patch_kind *idle_writer_new(struct publisher *publisher);

/** idle_writer_replan() - the track has another policy */
void idle_writer_replan(struct idle_node *idle);

/** idle_writer_add() - @node and @track are borrowed until publisher_remove() of the job */
void idle_writer_add(struct patch_kind *offers, struct idle_node *idle, const struct node *node,
                     const struct node_track *track);
/** idle_writer_seen() - take in the Node's @status, which may be NULL or hold anything */
void idle_writer_seen(struct idle_node *idle, const json_t *status);
/** idle_writer_update() - take in the values of a reading */
void idle_writer_update(struct idle_node *idle, const struct plan_values *values);
/** idle_writer_tick() - call every second or so: decide, and queue patches if @may_write */
void idle_writer_tick(struct patch_kind *offers, bool may_write);
