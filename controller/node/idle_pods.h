/*
 * The pods that run on idle CPU: bound, unfinished pods that request KUBE_IDLE_RESOURCE, by node,
 * from a watch of all pods that is open while the policy has spec.idle. And what they use, where
 * the node's kubelet says it (exposition/kubelet_pods.h).
 *
 * Kept by the node's name, since a pod may be bound to a node that has not been seen yet, and for
 * as long as the watch says that the pod exists: a node that is deleted and comes back may still
 * run it. Nodes without such pods take no memory.
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
        /* Pods of a cluster; further ones count as services. Kubernetes is made for 150,000. */
        IDLE_PODS_MAX = 200000,
        IDLE_PODS_USED_MS = 180000, /* what pods use is known for so long after the last reading */
};

struct idle_pod {
        LIST_ENTRY(idle_pod) entry; /* of its node's pods */
        struct idle_pods_node *node;
        uint64_t id;      /* of pod_facts */
        uint64_t name_id; /* hash of namespace and name */
        int64_t requested_milli;
        unsigned list; /* that has had it last; private */
        struct kubelet_pod cpu;
};

/* A node that has some. */
struct idle_pods_node {
        char *name;
        LIST_HEAD(, idle_pod) pods; /* not empty; first the one that came last */
        int64_t taken_milli;        /* all their requests, in thousandths of a CPU */
        /* Whoever reads the node's kubelet sets both: what was left out of the node's CPU. */
        double used_cores;
        int64_t used_mono_ms; /* 0: nothing was yet */
};

/** idle_pods_new() - none, and no watch */
struct idle_pods *idle_pods_new(void);
void idle_pods_free(struct idle_pods *pods);
DEFINE_FREEP(struct idle_pods, idle_pods_free);

/** idle_pods_follow() - @policy is in force: watch pods if it has spec.idle, else forget all; not
 * from a callback of the watch
 * @api: NULL: nothing is watched, and the other two may be NULL */
void idle_pods_follow(struct idle_pods *pods, const struct policy *policy, struct loop *loop,
                      struct kube_api *api, struct metrics *metrics);
/** idle_pods_reflector() - for readiness; NULL while there is no watch */
const struct reflector *idle_pods_reflector(const struct idle_pods *pods);
/** idle_pods_count() - of all nodes */
size_t idle_pods_count(const struct idle_pods *pods);
/** idle_pods_events - what the watch calls, with struct idle_pods as userdata; for tests */
extern const struct pod_watch_events idle_pods_events;

/** idle_pods_of() - those on @node, until the watch's next event; NULL: there are none */
struct idle_pods_node *idle_pods_of(const struct node *node);
/** idle_pods_taken_milli() - what pods request on @node, in thousandths of a CPU; negative: not
 * known, since the watch has not listed all pods yet */
int64_t idle_pods_taken_milli(const struct node *node);
/** idle_pods_find() - a kubelet_pods_find_fn of a struct idle_pods_node: one of its pods */
struct kubelet_pod *idle_pods_find(void *node, const char *namespace, size_t namespace_len,
                                   const char *name, size_t name_len);

struct idle_pods_use {
        double offered_cores; /* set by whoever knows */
        double taken_cores;
        /* Left out of what the node is said to use; negative: not known, and nothing is left out.
         */
        double used_cores;
};
/** idle_pods_use() - on @node; without such pods both are 0 */
struct idle_pods_use idle_pods_use(const struct node *node, int64_t now_mono_ms);
