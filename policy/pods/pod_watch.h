/*
 * Bound pods from a watch: what is to be known of each (policy/pods/pod_facts.h), and when it is
 * gone. Objects are neither decoded nor indexed here, so that a cluster's first list needs memory
 * for a page of it; the owner marks what a list shows and sweeps the rest.
 *
 * A pod that appears before our eyes was bound when its event arrived: the API server's clock may
 * differ from ours. Pods from a list, events of known pods, and those older than clock skew
 * explains get the PodScheduled condition's time. Nothing was bound in the future.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/reflector.h"
#include "policy/pods/pod_facts.h"

/* The API server's clock and ours may differ by this. */
enum { POD_WATCH_CLOCK_SKEW_MS = 300000 };

/* The first list begins before pod_watch_new() returns. None may free the watch; all but `pod` may
 * be NULL. */
struct pod_watch_events {
        /* Until list_ended every pod that exists is shown; also anew when a list has failed. */
        void (*list_begins)(void *userdata);
        /* A pod with an id, a node and a time, unfinished. @is_appeared: the watch has just seen it
         * bound; else it was listed or has changed, and if it is known, the time that it came with
         * first holds. */
        void (*pod)(void *userdata, const struct pod_facts *facts, bool is_appeared);
        void (*gone)(void *userdata, uint64_t id);
        /* A pod that has finished, if it is shown at all; NULL: it is gone. @is_appeared: it did so
         * just now; else perhaps long ago. */
        void (*finished)(void *userdata, const struct pod_facts *facts, bool is_appeared);
        void (*list_ended)(void *userdata);
};

struct pod_watch;

enum pod_watch_scope {
        POD_WATCH_ALL, /* bound and unfinished */
        /* Bound, and not running: not yet, and one that leaves runs by now or is deleted; or not
         * any more, and such a one comes from those that ran. */
        POD_WATCH_RECENT,
        /* Bound, and pending: each binding begins to match once. A list also shows those that run
         * by now; they are not reported as gone. */
        POD_WATCH_PENDING,
};

/** pod_watch_new() - starts at once; @events is borrowed */
struct pod_watch *pod_watch_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                enum pod_watch_scope scope, const struct pod_watch_events *events,
                                void *userdata);
void pod_watch_free(struct pod_watch *watch);
DEFINE_FREEP(struct pod_watch, pod_watch_free);

/** pod_watch_is_live() - listed once, and the watch is open */
bool pod_watch_is_live(const struct pod_watch *watch);
/** pod_watch_reflector() - for readiness checks; borrowed */
const struct reflector *pod_watch_reflector(const struct pod_watch *watch);
