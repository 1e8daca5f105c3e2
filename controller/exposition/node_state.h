/*
 * From two readings of a node to what happened in between. The state kept per node is the counters
 * of the reading before: 24 bytes a CPU, 16 a disk or a series of the policy's own, 32 a network
 * device.
 *
 * An interval of a counter counts only when both of its ends are usable. In it, a CPU, a device or
 * another series counts only when both ends have it (a CPU with the same modes) and it does not go
 * back: a new one begins at its first value, and one that was reset is left out of that interval.
 * The others have a value, and nothing makes a spike.
 *
 * CPU time that is missing is not busy time. (lxcfs' idle time may stand still: what is left of a
 * node that is 2% busy reads as 100%.) So the CPUs that count must account for at least 45% of the
 * time that went by on all of the node's CPUs, or the interval has no CPU usage. That is less than
 * half, to leave room for:
 *
 * - expositions that take unequally long to arrive: the interval between two answers may be twice
 *   the one between their counters;
 * - CPUs that were switched on, even twice as many, or off, or off and on within the interval;
 * - steal that the hypervisor does not report, of which the kernel counts nothing. (Steal that is
 *   reported is a mode, and counts.)
 *
 * A machine that was suspended for most of an interval loses that interval. There may be more CPU
 * time than time went by: an exporter's clock may run faster than ours, and one that counts guests'
 * time, which is part of user, counts it twice.
 *
 * Gauges need no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/node_reading.h"
#include "controller/window/window.h"

/* Counters of the policy's own. */
struct node_own_state {
        uint32_t counts[POLICY_MAX_RESOURCES];
        struct node_device *series[POLICY_MAX_RESOURCES];
};

/* The reading before. Zero-initialised is empty. */
struct node_state {
        int64_t at_mono_ms;
        uint32_t usable; /* counters below that can be compared with */
        uint32_t cpu_count;
        uint32_t disk_count;
        uint32_t link_count;
        struct node_cpu *cpus;
        struct node_device *disks;
        struct node_link *links;
        struct node_own_state *own;            /* NULL: there are no counters of the policy's own */
        double seconds[METRIC_RESOURCE_COUNT]; /* of METRIC_KIND_TIME */
};

#define NODE_STATE_NULL ((struct node_state){0})

void node_state_done(struct node_state *state);

/** node_state_forget_own() - the policy's own resources have changed */
void node_state_forget_own(struct node_state *state);

/**
 * node_state_is_repeated() - whether the CPUs' counters are those of the reading before
 *
 * Idle time is counted too, so on a machine that runs they never stand still: the exposition comes
 * out of a cache, or its exporter is stuck. False when @reading or the one before has no CPUs.
 */
bool node_state_is_repeated(const struct node_state *state, const struct node_reading *reading);

/**
 * node_state_is_continued() - whether @reading looks like one of the same machine
 *
 * Since the reading before, each CPU's time went on by about the time that went by. False when
 * either has no CPUs.
 */
bool node_state_is_continued(const struct node_state *state, const struct node_reading *reading,
                             int64_t now_mono_ms);

/**
 * node_state_step() - compare @reading with the one before, and remember it in its place
 * @wants: those that @reading was read by
 *
 * @ret_step is complete: at_mono_ms, counters and gauges, ready for window_store_add(). On a first
 * reading it has only gauges (and the store ignores them for want of an interval). Where two
 * readings say nothing, reading->why[] has the reason.
 */
void node_state_step(struct node_state *state, const struct node_wants *wants,
                     struct node_reading *reading, int64_t now_mono_ms,
                     struct window_step *ret_step);
