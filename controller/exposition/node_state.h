/*
 * The usage between two readings of a node. The state per node is the counters of the previous
 * reading: 24 bytes per CPU, 16 per disk or other series, 32 per network device.
 *
 * An interval of a counter counts only if both ends are usable. In it, a CPU, device or other
 * series counts only if both ends have it (a CPU with the same modes) and it does not go backwards:
 * a new series begins at its first value, and one that was reset is left out of the interval. The
 * others still have a value, and nothing makes a spike.
 *
 * Missing CPU time is not busy time. (In lxcfs, the idle time may stand still: then a node that is
 * 2% busy looks 100% busy.) Therefore the CPUs that count must account for at least 45% of the time
 * that passed on all of the node's CPUs that are on. (node_exporter keeps showing CPUs that were
 * switched off, with counters that stand still in all modes.) Otherwise, the interval has no CPU
 * usage. The limit is below half to allow for:
 *
 * - expositions that take different times to arrive: the interval between two responses may be
 * twice the interval between their counters;
 * - CPUs that were switched on, even as many as before, or off, or off and on within the interval;
 * - steal that the hypervisor does not report, and which the kernel does not count. (Reported steal
 *   is a mode, and counts.)
 *
 * A machine that was suspended for most of an interval loses that interval. CPU time can exceed the
 * time that passed: an exporter's clock may run faster than ours.
 *
 * Gauges need no state, except that load counts the CPUs that are on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/exposition/node_reading.h"
#include "controller/window/window.h"

/* The series of a reading, by resource. */
struct node_series_state {
        uint32_t counts[WINDOW_MAX_CHANNELS];
        struct node_device *series[WINDOW_MAX_CHANNELS];
};

/* The previous reading. Zero-initialised is empty. */
struct node_state {
        int64_t at_mono_ms;
        uint32_t usable; /* the counters below that can be compared */
        uint32_t cpu_count;
        uint32_t link_count;
        struct node_cpu *cpus;
        struct node_link *links;
        struct node_series_state *series; /* NULL: there were none */
};

#define NODE_STATE_NULL ((struct node_state){0})

void node_state_done(struct node_state *state);

/** node_state_forget_own() - drop the resources that the policy declares, which have changed */
void node_state_forget_own(struct node_state *state);

/**
 * node_state_is_repeated() - are the CPUs' counters the same as in the previous reading?
 *
 * Counters include idle time, so on a running machine they never stand still: the exposition comes
 * from a cache, or its exporter is stuck. False if @reading or the previous reading has no CPUs.
 */
bool node_state_is_repeated(const struct node_state *state, const struct node_reading *reading);

/**
 * node_state_is_continued() - does @reading look like a later reading of the same machine?
 *
 * Then each CPU's time grew by about the time that passed. False if either reading has no CPUs.
 */
bool node_state_is_continued(const struct node_state *state, const struct node_reading *reading,
                             int64_t now_mono_ms);

/**
 * node_state_step() - compare @reading with the previous reading, and replace that
 * @wants: what @reading was parsed with
 *
 * @ret_step is complete for window_store_add(): at_mono_ms, counters and gauges. After the first
 * reading, it has only gauges, which the store ignores without an interval. reading->why[] has the
 * reason for a missing value.
 */
void node_state_step(struct node_state *state, const struct node_wants *wants,
                     struct node_reading *reading, int64_t now_mono_ms,
                     struct window_step *ret_step);
