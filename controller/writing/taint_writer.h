/*
 * Keeps the soft taints of nodes at the level of their load (track/load_level.h) while the policy
 * has spec.taints, and removes them otherwise.
 *
 * Every replica computes the levels; the leader writes them, at most once per node and minute.
 *
 * The taints that a node carries are read only from the watch, so a new leader continues from what
 * its predecessor has written. A node is left as it is until its level has settled, and so are all
 * nodes while more than a tenth of them are new and have not settled. A node without recent
 * readings has no taints. A node whose readings stop having a load keeps its taints for a grace
 * period, in which another source may take over.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/track/load_level.h"
#include "controller/track/node_track.h"
#include "controller/writing/publisher.h"
#include "policy/node_taints.h"

/* Embedded in the owner's node. */
struct taint_node {
        struct publisher_job job;
        struct taint_writer *writer;
        const struct node_track *track;
        struct load_level level;
        int64_t last_sample_mono_ms;
        struct node_taints taints; /* that the node carries */
};

struct taint_writer {
        struct patch_kind *kind;
        /* As of the last tick. */
        struct load_levels least; /* among nodes that accept pods */
        size_t unsettled_count;   /* nodes within their grace period */
        struct metrics_series *level_gauges[POLICY_MAX_LEVELS];
};

/** taint_writer_init() - adds a kind of patches to @publisher */
void taint_writer_init(struct taint_writer *writer, struct publisher *publisher,
                       struct metrics *metrics);

/** taint_writer_replan() - the track has another policy */
void taint_writer_replan(struct taint_node *node);

/** taint_writer_add() - @name and @track are borrowed until publisher_remove() of the job */
void taint_writer_add(struct taint_writer *writer, struct taint_node *node, const char *name,
                      const struct node_track *track);
/** taint_writer_seen() - take in the taints of the Node, see node_taints_read() */
void taint_writer_seen(struct taint_node *node, const json_t *taints);
/** taint_writer_update() - take in the values of a reading; at most one counts per interval */
void taint_writer_update(struct taint_node *node, const struct plan_values *values);
/** taint_writer_tick() - call every second or so: decide, and queue patches if @may_write */
void taint_writer_tick(struct taint_writer *writer, bool may_write);
