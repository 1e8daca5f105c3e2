/*
 * A watch of bound pods. It reports the facts of each pod (policy/pods/pod_facts.h), and its end.
 * Objects are neither decoded nor indexed, so the first list of a cluster needs the memory of one
 * page. The owner marks the pods of a list, and removes all other pods at the end of the list.
 *
 * The time of a binding is the arrival of the event if the pod appears in the watch, since the API
 * server's clock may differ from ours. It is the time of the PodScheduled condition if the pod
 * comes from a list or is known already, or if the condition is older than clocks may differ. It is
 * never in the future.
 */
#pragma once

#include <stdbool.h>

#include "kube/reflector.h"
#include "policy/pods/pod_facts.h"

/* The largest expected difference between the API server's clock and ours. */
enum { POD_WATCH_CLOCK_SKEW_MS = 300000 };

/* The first list begins before pod_watch_new() returns. Callbacks must not free the watch. All
 * except `pod` may be NULL. */
struct pod_watch_events {
        /* Every existing pod follows, until list_ended. After a failure, the list begins again. */
        void (*list_begins)(void *userdata);
        /* An unfinished pod with an id, a node and a time of binding. @is_appeared: the watch has
         * just seen the binding. Otherwise the pod was listed or has changed; if it is known
         * already, its first time of binding remains valid. */
        void (*pod)(void *userdata, const struct pod_facts *facts, bool is_appeared);
        /* It has finished or was deleted; it may be unknown, and without a node. */
        void (*gone)(void *userdata, const struct pod_facts *facts);
        void (*list_ended)(void *userdata);
};

struct pod_watch;

enum pod_watch_scope {
        POD_WATCH_ALL, /* all bound and unfinished pods */
        /* Bound pods that are Pending, so each binding is one pod that appears. A list also has
         * running pods, whose end the watch does not report. */
        POD_WATCH_PENDING,
};

/** pod_watch_new() - starts at once; @events is borrowed */
struct pod_watch *pod_watch_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                enum pod_watch_scope scope, const struct pod_watch_events *events,
                                void *userdata);
void pod_watch_free(struct pod_watch *watch);

/** pod_watch_is_live() - listed once, and the watch is open */
bool pod_watch_is_live(const struct pod_watch *watch);
/** pod_watch_reflector() - for readiness checks; borrowed */
const struct reflector *pod_watch_reflector(const struct pod_watch *watch);
