/*
 * What the parts of node_track.h need of each other: private to node_track*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/track/node_track.h"

/** node_track_source() - the source of @metric: its exporter, or the one that serves the node */
size_t node_track_source(const struct node_track *track, size_t metric);

/* node_track_serving.c */

/** node_track_settle_serving() - begin with the first source that is asked. A source of which no
 * metric is wanted never serves, nor does an exporter instead of a source */
void node_track_settle_serving(struct node_track *track);
/** node_track_choose() - the source to serve the node now: of those in order, the first that is up;
 * if none is, the first that is fresh; if none is, the one in use */
size_t node_track_choose(const struct node_track *track, int64_t now_mono_ms);
/** node_track_is_source_fresh() - has source number @source had a reading recently enough? */
bool node_track_is_source_fresh(const struct node_track *track, size_t source, int64_t now_mono_ms);

/* node_track_learning.c */

/**
 * node_track_learn() - take in the node's annotations
 * @has_new_windows: some of them have to learn all peaks
 *
 * Maxima come first: where their peaks are known, the 5-minute mean of the same resource adds
 * nothing, and may cover only a few seconds. A peak that has been there before says nothing new,
 * and would have another age after a step of the wall clock.
 */
void node_track_learn(struct node_track *track, bool has_new_windows, int64_t now_mono_ms,
                      int64_t now_unix_ms);
