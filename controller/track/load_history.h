/*
 * Which changes of a node's load are reported, and when. Pure: the clock is an argument.
 *
 * - Overload is reported at once. A node that is back within its limits, or has no readings, is
 *   reported after the hold time without interruption.
 * - Two reports about one node are at least the hold time apart. A node that flaps around its limit
 *   is reported once, and again after it was calm for the hold time.
 * - A new node is reported only if it is overloaded. If the previous leader has reported it, the
 *   count of the same Event grows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/track/plan.h"
#include "policy/policy.h"

enum load_state {
        LOAD_UNKNOWN, /* no reading yet */
        LOAD_NORMAL,
        LOAD_OVERLOADED, /* above a limit of the policy in force */
        LOAD_STALE,      /* no usable reading */
};

/* One per node; zero-initialised. */
struct load_history {
        enum load_state reported, seen;
        int64_t seen_mono_ms; /* when `seen` began */
        int64_t reported_mono_ms;
};

/**
 * load_state_of() - judge a node by its present @values, as the extender does
 * @values:   NULL: the last reading is not fresh
 * @ret_over: the limit that the node is above; NULL: none
 */
enum load_state load_state_of(const struct policy *policy, const struct plan_values *values,
                              const struct policy_predicate **ret_over);

/** load_history_see() - take in the present state; true: report it
 * @state: not LOAD_UNKNOWN */
bool load_history_see(struct load_history *history, enum load_state state, int64_t hold_ms,
                      int64_t now_mono_ms);
