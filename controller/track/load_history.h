/*
 * Which changes of a node's load are reported, and when. Pure: the clock is an argument.
 *
 * - Overload is reported at once; that a node is back within its limits, or has no readings, when
 *   that has stood for the hold time without a break.
 * - Two changes of one node are at least the hold time apart. So a node that flaps around its limit
 *   is reported once, and again when it has been calm for the hold time.
 * - A node that is normal when it is first seen is no change. One that is overloaded then is
 *   reported. If a predecessor has reported it before, that was the same Event, whose count grows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/policy.h"

enum load_state {
        LOAD_UNKNOWN, /* not seen yet */
        LOAD_NORMAL,
        LOAD_OVERLOADED, /* above a limit of the policy in force */
        LOAD_STALE,      /* no usable reading */
};

/* Of one node; zero-initialised. */
struct load_history {
        enum load_state reported, seen;
        int64_t seen_mono_ms; /* since when `seen` stands */
        int64_t reported_mono_ms;
};

/**
 * load_state_of() - judges a node by its present @values, as the extender does
 * @values:   NULL: its last reading is not fresh
 * @ret_over: the limit that it is above, whether that rejects the node or ranks it last; NULL: none
 */
enum load_state load_state_of(const struct policy *policy, const struct plan_values *values,
                              const struct policy_predicate **ret_over);

/** load_history_see() - the node is in @state now; true: report this change
 * @state: not LOAD_UNKNOWN */
bool load_history_see(struct load_history *history, enum load_state state, int64_t hold_ms,
                      int64_t now_mono_ms);
