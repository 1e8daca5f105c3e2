/*
 * The Events of a node's load: those changes that are to be reported, see track/load_history.h.
 */
#pragma once

#include <stdint.h>

#include "controller/track/load_history.h"
#include "controller/track/node_track.h"
#include "controller/writing/recorder.h"

/**
 * load_events_report() - at every reading of a node, and every second or so while it has no fresh
 * one
 * @recorder: NULL: nothing is reported
 * @values:   of the node now; NULL: its last reading is not fresh
 *
 * The hold time (load_history.h) is the shortest period of the policy. Replicas that do not write
 * follow the load as well: so one that becomes the writer does not repeat what was reported.
 */
void load_events_report(struct recorder *recorder, struct load_history *history,
                        const struct node_track *track, const char *node,
                        const struct plan_values *values, int64_t now_mono_ms);
