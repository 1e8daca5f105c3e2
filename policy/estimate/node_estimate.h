/*
 * The usage of a node: its last reading, plus what it lacks of pods that came, minus what it still
 * has of pods that went.
 *
 *     usage = reading + sum over live pods of m * (1 - ov) - sum over ended pods of m * ov
 *
 * m is what a pod uses: its own measured mean, else the mean of its workload (workload.h), else its
 * request times the cluster's factor. A reading is the mean over a window, and ov is the part of
 * the window in which the pod ran:
 *
 *     time          11:55                12:00  now
 *     window          |--------------------|     |
 *     a   ========================================     ov 1
 *     b               |                ===========     ov 1/5
 *     c               |                    |  ====     ov 0
 *     d   =============================    |     |     ov 4/5   gone
 *     e               |           - - - - -|- - -|     ov 0     bound, but not running yet
 *
 * The pods of a window cannot have used more than the reading of their node. If the sum of m * ov
 * is larger, ended pods take the same share of it away: a kubelet that says too much about its pods
 * does not make its node look empty.
 *
 * What the reading has in addition to the pods of its window is the base of the node, which belongs
 * to no pod. A node without a reading has the mean base of all nodes instead:
 *
 *     usage = base + sum over live pods of m
 *
 * Guarantees: a live pod counts whole from its binding on, even if no window shows it yet, and a
 * pod that has ended does not count, even if a window still shows it. If no pod came or went since
 * the window began, the usage is the reading, whatever was expected of its pods. Nothing is kept
 * from one reading to the next, so an error lasts no longer than the reading that has it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/workload.h"

enum {
        NODE_ESTIMATE_MAX_GONE = 4096, /* ended pods of a node that are still in a window */
        /* Without readings, an ended pod is kept for this long, or for the length of the window if
         * that is longer. */
        NODE_ESTIMATE_UNREAD_MS = 900000,
        /* No node uses more than twice its capacity, so a larger reading is an error and is
         * ignored. It would distort the cluster's averages. */
        NODE_ESTIMATE_RATIO_MAX = 2,
};

#define NODE_POD_NEVER INT64_MAX

/* A pod on its node. */
struct node_pod {
        uint64_t id;                            /* unique among the node's live pods */
        uint64_t workload;                      /* workload_key() */
        uint64_t set;                           /* pod_facts.set_id */
        int64_t runs_unix_ms, gone_unix_ms;     /* NODE_POD_NEVER: not yet */
        float request[ESTIMATE_RESOURCE_COUNT]; /* as pod_load_counted(), in cores and bytes */
        float own[ESTIMATE_RESOURCE_COUNT];     /* its own measured mean; below 0: none */
        uint32_t uid;                           /* the first 8 hexadecimal digits of its uid */
        uint32_t generation : 31;               /* of the last list that had it */
        uint32_t is_placed : 1;                 /* kube-scheduler chose its node */
};

/* A reading of one resource. */
struct mean_reading {
        double ratio;                         /* of the capacity */
        int64_t begins_unix_ms, ends_unix_ms; /* the time that it is the mean of */
        int64_t window_ms; /* the metric's window, > 0; begins_unix_ms is later while it fills */
};

struct node_estimate {
        struct pod_load capacity; /* 0: unknown; then readings are ignored */
        struct mean_reading readings[ESTIMATE_RESOURCE_COUNT]; /* window_ms 0: none yet */
        struct node_pod *pods;
        size_t pod_count, pod_cap, gone_count;
};

/* Zero-initialised: a node without pods. */
void node_estimate_done(struct node_estimate *node);

/** node_estimate_find() - a live pod, or NULL; valid until the next change of the node */
struct node_pod *node_estimate_find(const struct node_estimate *node, uint64_t id);
/** node_estimate_bind() - a new pod was bound to the node */
void node_estimate_bind(struct node_estimate *node, const struct node_pod *pod);
/** node_estimate_end() - a pod has ended
 * @pod: node_estimate_find(); it is no longer valid */
void node_estimate_end(struct node_estimate *node, struct node_pod *pod, int64_t gone_unix_ms);
/** node_estimate_set_back() - the wall clock was set back: shift start and end times that are now
 * in the future. Otherwise, no window would include pods that have started, and all windows would
 * include pods that have ended */
void node_estimate_set_back(struct node_estimate *node, int64_t by_ms, int64_t now_unix_ms);
/** node_estimate_read() - a new reading; ignored without a capacity */
void node_estimate_read(struct node_estimate *node, int resource,
                        const struct mean_reading *reading);
/** node_estimate_measure() - the live pod with this uid uses @own by itself */
void node_estimate_measure(struct node_estimate *node, uint32_t uid, const struct pod_load *own);
/** node_estimate_forget_measured() - live pods use what their workloads do, until
 * node_estimate_measure(). What ended pods have used stays */
void node_estimate_forget_measured(struct node_estimate *node);

/** node_pod_overlap() - the part of the interval in which the pod ran: 0 to 1 */
double node_pod_overlap(const struct node_pod *pod, int64_t begins_unix_ms, int64_t ends_unix_ms);

/* One resource of a node; all 0 without a capacity. */
struct node_usage {
        double ratio; /* the usage as a share of the capacity, at least 0 */
        /* For pods that use more than expected, as a share of the capacity; it suffices in three of
         * four cases. */
        double margin_ratio;
        /* The base as a share of the capacity: below 0 if its pods use less than is known of them.
         * The cluster's without a reading. */
        double base_ratio;
};

/* What a live pod counts with. */
struct node_pod_load {
        struct pod_load used;
        struct pod_load variance; /* what it adds to the square of the margin */
        int64_t runs_unix_ms;     /* as in struct node_pod */
};

/** node_estimate_pod() - Return: false: there is no such live pod */
_must_check_ bool node_estimate_pod(const struct node_estimate *node, uint64_t id,
                                    const struct workload_set *workloads,
                                    const struct cluster_load *cluster, struct node_pod_load *ret);
/** node_estimate_requested() - what live pods request of one resource, in cores or bytes */
double node_estimate_requested(const struct node_estimate *node, int resource);
/** node_estimate_usage() - Return: the number of live pods that count by what was measured, of
 * themselves or their workload */
size_t node_estimate_usage(const struct node_estimate *node, const struct workload_set *workloads,
                           const struct cluster_load *cluster,
                           struct node_usage ret[static ESTIMATE_RESOURCE_COUNT]);
