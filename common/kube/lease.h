/*
 * Leader election by a Lease (coordination.k8s.io/v1): only one of several replicas writes. This
 * module has the requests and timers; lease_candidate.h has the rules, and explains why there is
 * never more than one leader.
 *
 * Programs with client-go exit when they lose the Lease, because nothing else reliably stops their
 * goroutines. We return to standby: everything runs on one thread, so that nothing writes after
 * on_stopped_leading has returned. A standby keeps its caches and histories, which a restarted
 * process would have to rebuild.
 *
 * A writer calls lease_is_leading() right before each write, and uses lease_until_mono_ms() as its
 * deadline. Neither depends on a timer, which would fire too late after the process was stopped.
 *
 * RBAC: leases in the namespace: create; get and update for the name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/kube_api.h"
#include "kube/lease_candidate.h"
#include "metrics/metrics.h"

struct lease;

struct lease_events {
        void (*on_started_leading)(void *userdata);
        void (*on_stopped_leading)(void *userdata);
        void *userdata;
};

struct lease_options {
        const char *namespace, *name; /* of the Lease; copied, like all texts here */
        const char *identity;         /* lease_identity_new() */
        struct lease_timing timing;
        struct lease_events events; /* they must not free the lease */
};

/** lease_identity_new() - the host name and random digits; owned by the caller */
char *lease_identity_new(void);

/** lease_new() - start a candidate, with a timing that lease_timing_check() accepts */
struct lease *lease_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                        const struct lease_options *options);
/** lease_free() - without events; the Lease expires unless it was released */
void lease_free(struct lease *lease);

/** lease_is_leading() - whether we may write now */
bool lease_is_leading(const struct lease *lease);
/** lease_until_mono_ms() - when our term ends without another renewal; in the past if we do not
 * lead */
int64_t lease_until_mono_ms(const struct lease *lease);

/** lease_is_settled() - whether the Lease has been read or written once */
bool lease_is_settled(const struct lease *lease);
const char *lease_identity(const struct lease *lease);
/** lease_leader() - the last known holder; "": none or unknown */
const char *lease_leader(const struct lease *lease);
/** lease_trouble() - why the Lease cannot be read or written, for /readyz?verbose; "": it can */
const char *lease_trouble(const struct lease *lease);

/** lease_leader_gauge() - plimsoll_leader, also for programs that write without an election */
struct metrics_series *lease_leader_gauge(struct metrics *metrics);

typedef void lease_released_fn(void *userdata);

/**
 * lease_release() - stop leading at once, and release the Lease, so that another replica can
 * acquire it
 *
 * Call it when no write is in flight.
 * @on_done: called once, on a later pass of the loop, even if the release failed
 */
void lease_release(struct lease *lease, lease_released_fn *on_done, void *userdata);
