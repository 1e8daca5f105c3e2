/*
 * The bound, unfinished pods of each node, from one watch of all pods, and what they use, from the
 * pages of kubelets (exposition/kubelet_pods.h, workload_meter.h) or else from the metrics API.
 * There is a watch while the policy needs one: for spec.idle, or with scoring: estimate.
 *
 * Kept by node name, since a pod may be bound to a node that is not known yet, and as long as the
 * pod exists: a node that is deleted and comes back may still run it. Memory: 300 bytes for a pod,
 * so 45 MB for 150,000.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/exposition/kubelet_pods.h"
#include "controller/pods/workload_meter.h"
#include "policy/pods/pod_watch.h"
#include "policy/policy.h"
#include "policy/usage/pod_usage_list.h"

enum {
        /* Further pods are not measured, and count as services. Kubernetes supports 150,000. */
        POD_SET_MAX = 200000,
        POD_SET_MEASURED_MS = 180000, /* how long a reading is valid */
};

struct measured_pod {
        LIST_ENTRY(measured_pod) entry; /* of its node's pods */
        struct pod_node *node;
        struct metered_workload *workload; /* NULL: none */
        char *name;                        /* "<namespace>/<name>" */
        uint64_t id;                       /* of pod_facts */
        uint64_t name_id;                  /* hash of namespace and name */
        uint32_t uid;                      /* pod_usage_uid() */
        bool has_uid;
        unsigned list; /* the last list with this pod; private */
        int64_t idle_milli;
        struct pod_load request;
        struct kubelet_pod page;
        struct pod_meter meter;
};

/* A node with pods. */
struct pod_node {
        char *name;
        uint32_t number;                /* of this node alone */
        LIST_HEAD(, measured_pod) pods; /* not empty; the newest first */
        int64_t taken_milli;    /* requests for KUBE_IDLE_RESOURCE, in thousandths of a CPU */
        int64_t read_mono_ms;   /* the last page with pods; 0: never */
        int64_t passed_mono_ms; /* the last page that was asked for the node itself; 0: never */
        double used_cores;      /* by pods on idle CPU: what was left out of the node's usage */
        int64_t used_mono_ms;   /* 0: never */
};

struct pod_set {
        int64_t read_ms; /* set by the owner: the time between two readings of a node's pods */
        /* Its owner may read these. */
        struct strmap nodes; /* name -> struct pod_node */
        struct workload_meter meter;
        bool is_metering; /* the policy needs what pods use */

        struct strmap by_id; /* id of pod_facts -> struct measured_pod, owned */
        unsigned list;       /* how many lists have begun */
        bool is_listed;      /* a list has ended */
        uint32_t node_numbers;
        struct pod_watch *watch;
};

/** pod_set_new() - empty, without a watch */
struct pod_set *pod_set_new(void);
void pod_set_free(struct pod_set *set);
DEFINE_FREEP(struct pod_set, pod_set_free);

/** pod_set_follow() - watch pods if @policy needs them, else forget all; not to be called from a
 * callback of the watch
 * @api: NULL: nothing is watched; @loop and @metrics may be NULL, too */
void pod_set_follow(struct pod_set *set, const struct policy *policy, struct loop *loop,
                    struct kube_api *api, struct metrics *metrics);
/** pod_set_reflector() - for readiness; NULL: there is no watch */
const struct reflector *pod_set_reflector(const struct pod_set *set);
/** pod_set_events - the watch's callbacks, with a struct pod_set as userdata; for tests */
extern const struct pod_watch_events pod_set_events;

/** pod_set_node() - the pods on a node; valid until the next event of the watch; NULL: none */
struct pod_node *pod_set_node(const struct pod_set *set, const char *name);
/** pod_set_taken_milli() - what pods on the node request of idle CPU, in thousandths; negative: not
 * known, since pods have not been listed */
int64_t pod_set_taken_milli(const struct pod_set *set, const char *name);

/* A page of a kubelet. */
struct pod_page {
        const char *text; /* any bytes; NULL: none */
        size_t text_bytes;
        bool is_complete; /* see exposition_begin() */
        const struct kubelet_clocks *clocks;
        const struct kubelet_capacity *capacity;
};
/** pod_set_is_due() - whether the pods of @node should be read now, or an eighth of the time later
 */
bool pod_set_is_due(const struct pod_set *set, const struct pod_node *node, int64_t now_mono_ms);
/** pod_set_is_worth_a_page() - whether to ask for a page for the sake of these pods: they are due,
 * and the kubelet is not asked anyway, perhaps at the same instant */
bool pod_set_is_worth_a_page(const struct pod_set *set, const struct pod_node *node,
                             int64_t now_mono_ms);
/** pod_set_find() - the pod with this id of pod_facts, or NULL */
struct measured_pod *pod_set_find(const struct pod_set *set, uint64_t id);
/** pod_set_meter() - the samples of the node's pods are new: kubelet_pods_take() with the same
 * time, and memory_bytes */
void pod_set_meter(struct pod_set *set, struct pod_node *node, const struct kubelet_clocks *clocks,
                   const struct kubelet_capacity *capacity);
/** pod_set_read() - take in a page, with pod_set_meter(); Return: the number of unusable lines and
 * values */
size_t pod_set_read(struct pod_set *set, struct pod_node *node, const struct pod_page *page);
/* What the metrics API says of a pod. */
struct pod_sample {
        struct pod_load load; /* finite, >= 0; the mean over window_s for CPU */
        double window_s;      /* > 0 */
        int64_t at_unix_ms;
};
/** pod_set_unread() - the pods whose kubelets were not read in the last two rounds
 * @ret: "<namespace>/<name>" -> struct measured_pod, borrowed until the next event of the watch;
 * the caller calls strmap_done() */
void pod_set_unread(const struct pod_set *set, int64_t now_mono_ms, struct strmap *ret);
/** pod_set_take() - in place of a page; a sample that was taken before is ignored, and so is an
 * older one unless the last is no longer valid */
void pod_set_take(const struct pod_set *set, struct measured_pod *pod,
                  const struct pod_sample *sample, const struct kubelet_clocks *clocks);
/** pod_set_tick() - call it once a minute: bounds of workloads, and those to forget */
void pod_set_tick(struct pod_set *set, int64_t now_unix_ms);

struct idle_use {
        double offered_cores; /* set by the caller */
        double taken_cores;
        /* What is left out of the node's usage; negative: not known, and nothing is left out. */
        double used_cores;
};
/** pod_set_idle_use() - what pods on idle CPU take and use on a node */
struct idle_use pod_set_idle_use(const struct pod_set *set, const char *name, int64_t now_mono_ms);

/* Showing (pod_view.c). */

struct pod_count {
        size_t bound, measured;
        size_t mixed; /* on idle CPU, although they also request CPU */
};
/** pod_view_count() - how many pods @node has; NULL: none */
struct pod_count pod_view_count(const struct pod_node *node, int64_t now_mono_ms);
/** pod_view_count_all() - those of all nodes */
struct pod_count pod_view_count_all(const struct pod_set *set, int64_t now_mono_ms);
/** pod_view_list() - the pods of @node whose means differ most from their workload's: by at least
 * POD_VIEW_MIN_SHARE of the node
 * Return: false: no pod has been measured yet, or not recently */
#define POD_VIEW_MIN_SHARE 0.01
_must_check_ bool pod_view_list(const struct pod_node *node,
                                const struct kubelet_capacity *capacity, int64_t now_mono_ms,
                                struct pod_usage_list *ret);
/** pod_view_page() - write the pods of the node as JSON; "pods" is empty if there are none
 * @name: as a client has written it */
void pod_view_page(const struct pod_set *set, const char *name, int64_t now_mono_ms,
                   struct buf *out);
