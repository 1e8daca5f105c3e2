/*
 * Feeds the estimator from a watch of bound pods, and advances it with the clock. It starts when
 * the nodes are listed and a policy has scoring: estimate, and runs on the loop's thread.
 */
#pragma once

#include "daemon/daemon.h"
#include "extender/estimator/estimator.h"
#include "policy/pods/pod_watch.h"

struct estimate_watch_options {
        const struct daemon *daemon; /* borrowed; they outlive the watch */
        struct estimator *estimator;
        void (*on_change)(void *userdata); /* the usage of a node may have changed */
        /* A bound pod, at its binding and at each change; see pod_watch.h. */
        void (*on_pod)(void *userdata, const struct pod_facts *pod, bool is_appeared);
        void *userdata;
};

struct estimate_watch;

struct estimate_watch *estimate_watch_new(const struct estimate_watch_options *options);
/** estimate_watch_reflector() - for readiness checks; borrowed */
const struct reflector *estimate_watch_reflector(const struct estimate_watch *watch);
void estimate_watch_free(struct estimate_watch *watch);
