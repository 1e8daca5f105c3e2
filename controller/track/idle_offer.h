/*
 * How much idle CPU a node offers to batch pods, by spec.idle. Pure.
 *
 * The room is what remains below the line if services use as much as at their peak in the policy's
 * window, or as in the policy's shortest mean of CPU, whichever is more. (A mean counts as soon as
 * half of its window has data: a few busy seconds after a start are not two minutes.) The offer
 * follows a smaller room at once. It rises by at most an eighth of the node's CPUs per shortest
 * period of the policy (plan.h), so that pods which have just started are measured before more of
 * them come.
 *
 * A node whose pods have taken more than it would offer has no offer at all. A restarted kubelet
 * admits its pods again, one after the other. It ends those for which the resource is too small,
 * but does not check a resource that its node does not have. A Job would count a pod that it ended,
 * and that exited in order, as complete.
 *
 * The room is a multiple of a hundredth of the node's CPUs, so smaller changes write nothing.
 * docs/placement.md compares other rules.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "controller/track/plan.h"
#include "policy/policy.h"

/* The node does not have the resource: its usage is unknown, or more is taken than remains. */
#define IDLE_OFFER_NONE (-1)

/* In thousandths of a CPU. */
struct idle_offer {
        int64_t room_milli;  /* may be IDLE_OFFER_NONE */
        int64_t rises_milli; /* the largest rise at a time */
};

/** idle_offer_of() - what a node with @cpu_cores (0: not known) could offer by these values */
struct idle_offer idle_offer_of(const struct policy *policy, const struct plan_values *values,
                                double cpu_cores);

/**
 * idle_offer_next() - the offer that follows @now_milli; both may be IDLE_OFFER_NONE
 * @may_rise:    a period has passed since the last rise
 * @taken_milli: what pods on the node request of the resource
 */
int64_t idle_offer_next(const struct idle_offer *offer, int64_t now_milli, bool may_rise,
                        int64_t taken_milli);
