/*
 * Whether this replica may write: with leader election while it holds the Lease, without election
 * always, in a dry run never. Every request that writes carries leader_fence(). Also the `leader`
 * check of /readyz, which passes on a standby too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/lease.h"
#include "metrics/metrics.h"
#include "net/health.h"

struct leader_options {
        bool is_elected;
        const char *name, *namespace; /* of the Lease; borrowed */
        struct lease_timing timing;
};

struct leader;

/**
 * leader_new()
 * @may_ever_write: false for a dry run
 * @events:         nothing is called without an election
 */
struct leader *leader_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                          struct health *health, const struct leader_options *options,
                          bool may_ever_write, const struct lease_events *events);
void leader_free(struct leader *leader);
DEFINE_FREEP(struct leader, leader_free);

/** leader_may_write() - now */
bool leader_may_write(const struct leader *leader);
/** leader_fence() - for every request that writes; it closes when leader_may_write() turns false */
struct kube_fence leader_fence(const struct leader *leader);
/** leader_show() - update the readiness check; call it every second or so */
void leader_show(struct leader *leader);
/**
 * leader_resign() - release the Lease; no write may be in flight any more
 * @on_done: called once, on a later turn unless there is no election
 */
void leader_resign(struct leader *leader, lease_released_fn *on_done, void *userdata);
