/*
 * Bound pods from a watch: the facts of each (policy/pods/pod_facts.h), and when it is gone.
 * Objects are neither decoded nor indexed here, so a cluster's first list needs the memory of one
 * page; the owner marks the pods that a list shows and sweeps the rest.
 *
 * A pod that the watch sees appear was bound when its event arrived: the API server's clock may
 * differ from ours. A pod from a list, a pod that is known already, and one whose PodScheduled
 * condition is older than the clocks may differ, was bound at that condition's time. No pod was
 * bound in the future.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/reflector.h"
#include "policy/pods/pod_facts.h"

/* The API server's clock and ours may differ by this. */
enum { POD_WATCH_CLOCK_SKEW_MS = 300000 };

/* The first list begins before pod_watch_new() returns. No callback may free the watch. All but
 * `pod` may be NULL. */
struct pod_watch_events {
        /* Every pod that exists follows, until list_ended. A list that failed begins again. */
        void (*list_begins)(void *userdata);
        /* An unfinished pod with an id, a node and a time. @is_appeared: the watch has just seen it
         * bound. Else it was listed or has changed; then its first time holds, if it is known. */
        void (*pod)(void *userdata, const struct pod_facts *facts, bool is_appeared);
        void (*gone)(void *userdata, uint64_t id);
        void (*list_ended)(void *userdata);
};

struct pod_watch;

enum pod_watch_scope {
        POD_WATCH_ALL, /* bound and unfinished */
        /* Bound pods that are Pending, so each binding is one pod that appears. A list also shows
         * pods that run by now; the watch does not report those as gone. */
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
