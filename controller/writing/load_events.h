/*
 * The Events of a node's load: judges the node by its present values, and tells what has changed.
 */
#pragma once

#include <stdint.h>

#include "controller/track/load_history.h"
#include "controller/track/node_track.h"
#include "controller/writing/recorder.h"

/**
 * load_events_look() - at every reading of a node, and every second or so while it has no fresh one
 * @recorder: NULL: nothing is told
 * @values:   of the node now; NULL: its last reading is not fresh
 *
 * The hold time (load_history.h) is the shortest period of the policy. Replicas that do not write
 * look as well, so that one that becomes the writer does not tell anew what has been told.
 */
void load_events_look(struct recorder *recorder, struct load_history *history,
                      const struct compiled_policy *compiled, const struct node_track *track,
                      const char *node, const struct plan_values *values, int64_t now_mono_ms);
