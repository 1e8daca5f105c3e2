/*
 * Events about the load of nodes: the changes that track/load_history.h reports.
 */
#pragma once

#include <stdint.h>

#include "controller/track/load_history.h"
#include "controller/track/node_track.h"
#include "controller/writing/recorder.h"

/**
 * load_events_report() - call at every reading of a node, and every second or so while it has no
 * fresh one
 * @recorder: NULL: nothing is reported
 * @values:   present values; NULL: the last reading is not fresh
 *
 * The hold time (load_history.h) is the shortest period of the policy. Replicas that do not write
 * follow the load, too: a new writer does not repeat what was reported.
 */
void load_events_report(struct recorder *recorder, struct load_history *history,
                        const struct node_track *track, const char *node,
                        const struct plan_values *values, int64_t now_mono_ms);
