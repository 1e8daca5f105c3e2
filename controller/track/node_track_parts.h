/*
 * Shared by node_track*.c only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/track/node_track.h"

/* node_track_serving.c */

/** node_track_settle_serving() - put the first source that the policy needs in use, if the present
 * one is not needed or is an exporter */
void node_track_settle_serving(struct node_track *track);
/** node_track_choose() - the source that should serve the node now: the first that is up, else the
 * first that is fresh, else the one in use */
size_t node_track_choose(const struct node_track *track, int64_t now_mono_ms);
/** node_track_source() - the source of @metric: its exporter, or the one that serves the node */
size_t node_track_source(const struct node_track *track, size_t metric);
/** node_track_is_source_fresh() - has source number @source had a recent reading? */
bool node_track_is_source_fresh(const struct node_track *track, size_t source, int64_t now_mono_ms);

/* node_track_learning.c */

/**
 * node_track_learn() - take in the node's annotations
 * @has_new_windows: read all peaks again
 *
 * Maxima come first: if their peaks are known, the 5-minute mean of the resource is not needed, and
 * may cover only a few seconds. A peak that has not changed is not read again: it would get another
 * age when the wall clock is set.
 */
void node_track_learn(struct node_track *track, bool has_new_windows, int64_t now_mono_ms,
                      int64_t now_unix_ms);
