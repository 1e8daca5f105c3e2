/*
 * Keeps the soft taints of nodes at the level of their load (track/load_level.h), as long as the
 * policy has spec.taints; without it, takes them off.
 *
 * Every replica follows the levels; the one that leads patches, at most once per node and minute,
 * by the publisher of the annotations, whose budget they share. What a node carries is read from
 * the watch alone. So a replica begins with the levels that its predecessor left, and changes none
 * before all nodes have been read some times. A node without recent readings has no taints.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "controller/track/load_level.h"
#include "controller/track/node_track.h"
#include "controller/writing/node_taints.h"
#include "controller/writing/publisher.h"
#include "metrics/metrics.h"
#include "net/loop.h"

struct taint_writer;

/* Its part of a node; embedded in its owner, which does not touch the members. */
struct taint_node {
        struct publisher_job job; /* its first member */
        struct taint_writer *writer;
        const struct node_track *track;
        TAILQ_ENTRY(taint_node) link;
        struct load_level level;
        struct node_taints taints; /* what the node carries */
        bool is_seen;              /* the watch has shown it */
        bool is_failing;           /* the last patch failed */
};

/**
 * taint_writer_new()
 * @publisher:   borrowed, like @loop and @metrics; NULL: nothing is ever written
 * @interval_ms: between two readings of a node
 * @compiled:    borrowed until taint_writer_set_policy() gives another
 */
struct taint_writer *taint_writer_new(struct loop *loop, struct publisher *publisher,
                                      struct metrics *metrics, int64_t interval_ms,
                                      const struct compiled_policy *compiled);
/** taint_writer_free() - after every node has been removed, before the publisher is freed */
void taint_writer_free(struct taint_writer *writer);
DEFINE_FREEP(struct taint_writer, taint_writer_free);

void taint_writer_set_policy(struct taint_writer *writer, const struct compiled_policy *compiled);

/** taint_writer_add() - @name and @track are borrowed until taint_writer_remove() */
void taint_writer_add(struct taint_writer *writer, struct taint_node *node, const char *name,
                      const struct node_track *track);
/** taint_writer_remove() - cancels the patch that is queued or in flight */
void taint_writer_remove(struct taint_node *node);
/** taint_writer_seen() - the node has these @taints now; see node_taints_read() */
void taint_writer_seen(struct taint_node *node, const json_t *taints);
/** taint_writer_update() - the node has been read: @values */
void taint_writer_update(struct taint_node *node, const struct plan_values *values);
/** taint_writer_tick() - every second or so: decide, and queue patches if this replica @may_write
 */
void taint_writer_tick(struct taint_writer *writer, bool may_write);
/** taint_writer_stop() - cancel what is queued or in flight: this replica no longer leads */
void taint_writer_stop(struct taint_writer *writer);
