/*
 * How much idle CPU a node offers to batch pods, by spec.idle. Pure.
 *
 * The room is what is left below the line when services use as much as at their peak in the
 * policy's window, or as in the shortest mean of CPU that the policy has, whichever is more. (A
 * mean counts as soon as half of its window has data: some busy seconds after a start are not two
 * minutes.) An offer falls with the room at once. It rises by at most an eighth of the node's CPUs
 * per shortest period of the policy (plan.h): so pods that have just started are read before more
 * of them come.
 *
 * A node whose pods have taken more than it would offer has no offer at all. A kubelet that
 * restarts admits its pods again, one after the other, and ends those for which an offer is too
 * small, but does not ask for a resource that its node does not have. A pod that it ended, and that
 * stopped when told to, would count as done in its Job.
 *
 * The room is a multiple of a hundredth of the node's CPUs, so that the node is not written for
 * less. docs/placement.md has what other rules are worth.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "controller/track/plan.h"
#include "policy/policy.h"

/* The node shall not have the resource: nothing is known of it, or more is taken than is left. */
#define IDLE_OFFER_NONE (-1)

/* In thousandths of a CPU. */
struct idle_offer {
        int64_t room_milli;  /* may be IDLE_OFFER_NONE */
        int64_t rises_milli; /* one rise is at most so much */
};

/**
 * idle_offer_of() - what a node with @cpu_cores, more than 0, could offer by these values
 */
struct idle_offer idle_offer_of(const struct policy *policy, const struct plan_values *values,
                                double cpu_cores);

/** idle_offer_next() - after @now_milli, which may be IDLE_OFFER_NONE; @may_rise: a period has
 * passed since the last rise; @taken_milli: what pods on the node request of it */
int64_t idle_offer_next(const struct idle_offer *offer, int64_t now_milli, bool may_rise,
                        int64_t taken_milli);
