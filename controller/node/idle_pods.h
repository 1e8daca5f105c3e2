/*
 * The pods on idle CPU by node: bound, unfinished pods that request KUBE_IDLE_RESOURCE, from a
 * watch of all pods while the policy has spec.idle. And what they use, if the node's kubelet shows
 * it (exposition/kubelet_pods.h).
 *
 * Kept by node name, since a pod may be bound to a node that is not known yet, and as long as the
 * pod exists: a node that is deleted and comes back may still run it. Nodes without such pods take
 * no memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "controller/exposition/kubelet_pods.h"
#include "policy/pods/pod_watch.h"
#include "policy/policy.h"

struct node;

enum {
        /* Further pods count as services. Kubernetes supports 150,000 pods. */
        IDLE_PODS_MAX = 200000,
        IDLE_PODS_USED_MS = 180000, /* how long the last reading of what pods use is valid */
};

struct idle_pod {
        LIST_ENTRY(idle_pod) entry; /* of its node's pods */
        struct idle_pods_node *node;
        uint64_t id;      /* of pod_facts */
        uint64_t name_id; /* hash of namespace and name */
        int64_t requested_milli;
        unsigned list; /* the last list with this pod; private */
        struct kubelet_pod cpu;
};

/* A node with such pods. */
struct idle_pods_node {
        char *name;
        LIST_HEAD(, idle_pod) pods; /* not empty; the newest first */
        int64_t taken_milli;        /* the sum of their requests, in thousandths of a CPU */
        /* What was left out of the node's CPU; both are set by the reader of the kubelet's page. */
        double used_cores;
        int64_t used_mono_ms; /* 0: never */
};

/** idle_pods_new() - empty, without a watch */
struct idle_pods *idle_pods_new(void);
void idle_pods_free(struct idle_pods *pods);
DEFINE_FREEP(struct idle_pods, idle_pods_free);

/** idle_pods_follow() - watch pods if @policy has spec.idle, else forget all; not to be called from
 * a callback of the watch
 * @api: NULL: nothing is watched; @loop and @metrics may be NULL, too */
void idle_pods_follow(struct idle_pods *pods, const struct policy *policy, struct loop *loop,
                      struct kube_api *api, struct metrics *metrics);
/** idle_pods_reflector() - for readiness; NULL: there is no watch */
const struct reflector *idle_pods_reflector(const struct idle_pods *pods);
/** idle_pods_count() - pods on all nodes */
size_t idle_pods_count(const struct idle_pods *pods);
/** idle_pods_events - the watch's callbacks, with a struct idle_pods as userdata; for tests */
extern const struct pod_watch_events idle_pods_events;

/** idle_pods_of() - the pods on @node; valid until the next event of the watch; NULL: none */
struct idle_pods_node *idle_pods_of(const struct node *node);
/** idle_pods_taken_milli() - what pods on @node request, in thousandths of a CPU; negative: not
 * known, since pods have not been listed */
int64_t idle_pods_taken_milli(const struct node *node);
/** idle_pods_find() - find a pod of a struct idle_pods_node; a kubelet_pods_find_fn */
struct kubelet_pod *idle_pods_find(void *node, const char *namespace, size_t namespace_len,
                                   const char *name, size_t name_len);

struct idle_pods_use {
        double offered_cores; /* set by the caller */
        double taken_cores;
        /* What is left out of the node's usage; negative: not known, and nothing is left out. */
        double used_cores;
};
/** idle_pods_use() - what pods take and use on @node */
struct idle_pods_use idle_pods_use(const struct node *node, int64_t now_mono_ms);
