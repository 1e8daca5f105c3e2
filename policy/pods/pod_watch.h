/*
 * A watch of bound pods: the facts of each (policy/pods/pod_facts.h), and when it is gone. Objects
 * are neither decoded nor indexed here, so the first list of a cluster needs the memory of one
 * page. The owner marks the pods that a list has, and removes the others when the list has ended.
 *
 * When was a pod bound? If it appears in the watch, when the event arrived, since the API server's
 * clock may differ from ours. If it is from a list, or is known already, or its PodScheduled
 * condition is older than clocks may differ: at the time of that condition. Never in the future.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/reflector.h"
#include "policy/pods/pod_facts.h"

/* The API server's clock and ours may differ by this. */
enum { POD_WATCH_CLOCK_SKEW_MS = 300000 };

/* The first list begins before pod_watch_new() returns. No callback may free the watch. All except
 * `pod` may be NULL. */
struct pod_watch_events {
        /* Every existing pod follows, until list_ended. If a list fails, it begins again. */
        void (*list_begins)(void *userdata);
        /* An unfinished pod with an id, a node and a time of binding. @is_appeared: the watch has
         * just seen it being bound. Otherwise it was listed or has changed, and if it is known
         * already, the first time that was given for it holds. */
        void (*pod)(void *userdata, const struct pod_facts *facts, bool is_appeared);
        void (*gone)(void *userdata, uint64_t id);
        void (*list_ended)(void *userdata);
};

struct pod_watch;

enum pod_watch_scope {
        POD_WATCH_ALL, /* bound and unfinished */
        /* Bound pods that are Pending, so each binding is one pod that appears. A list also has
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
