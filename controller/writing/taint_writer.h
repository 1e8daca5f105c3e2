/*
 * Keeps the soft taints of nodes at the level of their load (track/load_level.h), as long as the
 * policy has spec.taints; without it, takes them off.
 *
 * Every replica follows the levels; the one that leads patches, at most once per node and minute.
 *
 * What a node carries is read from the watch only. So a replica begins with the levels that its
 * predecessor left. It changes no node whose level has not settled (load_level.h), and none at all
 * while more than a tenth of the nodes have come lately and have not settled. A node without recent
 * readings has no taints; one whose readings have no load any more keeps its own for a while, in
 * which it may turn to another source.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/track/load_level.h"
#include "controller/track/node_track.h"
#include "controller/writing/node_taints.h"
#include "controller/writing/publisher.h"

/* Its part of a node; embedded in its owner, which does not touch the members. */
struct taint_node {
        struct publisher_job job; /* its first member */
        struct taint_writer *writer;
        const struct node_track *track;
        struct load_level level;
        int64_t sampled_mono_ms;   /* when the level took in its last sample */
        int64_t awaited_mono_ms;   /* until then it is expected to settle */
        struct node_taints taints; /* what the node carries */
};

struct taint_writer {
        struct patch_kind *kind;
        /* As of the last tick. */
        struct load_levels least; /* of the nodes that pods may be given to */
        size_t awaited;           /* nodes that have come lately, whose levels have not settled */
        struct metrics_series *shown[POLICY_MAX_LEVELS];
};

/** taint_writer_new() - adds a kind of patches to @publisher */
struct taint_writer *taint_writer_new(struct publisher *publisher, struct metrics *metrics);
/** taint_writer_free() - after every node has been removed */
void taint_writer_free(struct taint_writer *writer);

/** taint_writer_replan() - the track has another policy */
void taint_writer_replan(struct taint_node *node);
/** taint_writer_lead() - this replica writes from now on; as idle_writer_lead() */
void taint_writer_lead(struct taint_node *node);

/** taint_writer_add() - @name and @track are borrowed until publisher_remove() of the job */
void taint_writer_add(struct taint_writer *writer, struct taint_node *node, const char *name,
                      const struct node_track *track);
/** taint_writer_seen() - the node has these @taints now; see node_taints_read() */
void taint_writer_seen(struct taint_node *node, const json_t *taints);
/** taint_writer_update() - the node has been read: @values. Readings that come faster than one per
 * interval, as from two sources, count as one. */
void taint_writer_update(struct taint_node *node, const struct plan_values *values);
/** taint_writer_tick() - every second or so: decide, and queue patches if this replica @may_write
 */
void taint_writer_tick(struct taint_writer *writer, bool may_write);
