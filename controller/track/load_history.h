/*
 * When a change of a node's load is told. Pure: the clock is an argument.
 *
 * - Overload is told at once; that a node is back within its limits, or has no readings, when that
 *   has stood for the hold time without a break.
 * - Two changes of one node are at least the hold time apart. So a node that flaps around its limit
 *   is told once, and again when it has been calm for the hold time.
 * - A node that is normal when it is first seen is no change. One that is overloaded then is told:
 *   whether a predecessor has told it is not known, and its Event is the same one (recorder.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum load_state {
        LOAD_UNKNOWN, /* not seen yet */
        LOAD_NORMAL,
        LOAD_OVERLOADED, /* above a limit of the policy in force */
        LOAD_STALE,      /* no usable reading */
};

/* Of one node; zero-initialised. */
struct load_history {
        enum load_state told, seen;
        int64_t seen_mono_ms; /* since when `seen` stands */
        int64_t told_mono_ms; /* when `told` was told */
};

/** load_history_see() - the node is in @state now; true: tell this change
 * @state: not LOAD_UNKNOWN */
bool load_history_see(struct load_history *history, enum load_state state, int64_t hold_ms,
                      int64_t now_mono_ms);
