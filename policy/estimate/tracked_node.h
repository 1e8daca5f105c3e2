/*
 * What a node uses, as the sum of what its pods use and of a base that is no pod's:
 *
 *     usage = base + sum over live pods of m
 *
 * Each m begins as what its workload is expected to use (workload.h), the base as the mean base of
 * the cluster. A reading is the mean over a window, in which pods ran for a part ov of it:
 *
 *     time          11:55                12:00  now
 *     window          |--------------------|     |
 *     a   ========================================     ov 1
 *     b               |                ===========     ov 1/5
 *     c               |                    |  ====     ov 0
 *     d   =============================    |     |     ov 4/5   gone
 *     e               |           - - - - -|- - -|     ov 0     bound, and does not run yet
 *
 * So the reading should be base + sum of ov * m. By how much it is not is shared among base and
 * pods in proportion to how uncertain each is, and to how much the window holds of it, as a Kalman
 * filter does that knows no covariances:
 *
 *     surprise  s  = reading - base - sum of ov * m          at most 3 sqrt(S) away from 0
 *     variance  S  = noise + variance of the base + sum of ov^2 * variance of m
 *     gain      g  = variance * ov / S
 *     m           += g * s
 *     variance    *= 1 - g * ov
 *
 * A live pod counts whole from its binding on, whether a window shows it yet or not, and a pod that
 * is gone counts nothing, whatever the window still shows of it. Variances grow with time. The
 * noise is the node's own, learned from its surprises: a machine whose readings jump is believed
 * slowly. A shorter mean of the same end makes two observations of one reading: the part of the
 * longer window that the shorter one lacks, and the shorter window.
 *
 * Each new CPU reading also teaches the workloads whose pods have moved in or out of the window.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/workload.h"

enum {
        TRACKED_MAX_GONE = 4096,    /* pods of a node that went and are in a window */
        TRACKED_MAX_CHANGES = 64,   /* workloads that one reading teaches */
        TRACKED_UNREAD_MS = 900000, /* how long a pod that is gone is kept where no reading comes */
};

#define TRACKED_NEVER INT64_MAX

/* A pod on its node. */
struct tracked_pod {
        uint64_t id;                         /* unique on the node */
        struct workload *workload;           /* held; NULL: it has no owner */
        int64_t runs_unix_ms, gone_unix_ms;  /* TRACKED_NEVER: not yet */
        float used[ESTIMATE_RESOURCE_COUNT]; /* m, in cores and bytes */
        float variance[ESTIMATE_RESOURCE_COUNT];
        float overlap; /* with the last CPU window, for workload.h */
};

/* A reading of one resource. */
struct tracked_reading {
        double ratio;                         /* of the capacity */
        int64_t begins_unix_ms, ends_unix_ms; /* what it is the mean of */
        int64_t window_ms; /* as the metric says, > 0; a young window begins later */
};

struct tracked_node {
        struct pod_load capacity;      /* 0: not known, then readings say nothing */
        struct pod_load requested;     /* by live pods */
        struct pod_load pods_used;     /* by live pods: sum of m */
        struct pod_load pods_variance; /* of that sum */
        struct pod_load base, base_variance, noise;
        struct tracked_reading readings[ESTIMATE_RESOURCE_COUNT]; /* window_ms 0: none yet */
        struct tracked_pod *pods;
        size_t pod_count, pod_cap, gone_count;
};

/* Zero-initialised is a node without pods. */
void tracked_node_done(struct tracked_node *node, struct workload_set *workloads);

/** tracked_node_bind() - a pod that is not on the node yet was bound to it
 * @request: as pod_load_counted()
 * @runs_unix_ms: since when it runs; TRACKED_NEVER: not yet */
void tracked_node_bind(struct tracked_node *node, uint64_t id, struct workload *workload,
                       const struct pod_load *request, int64_t runs_unix_ms,
                       const struct cluster_load *cluster);
/** tracked_node_start() - a pod runs; ignored where it is not known, and of one that ran already.
 * Return: whether it is news */
bool tracked_node_start(struct tracked_node *node, uint64_t id, int64_t runs_unix_ms);
/** tracked_node_resize() - a pod requests @to instead of @from, both as pod_load_counted(): it is
 * expected to use more or less in proportion, but for cores where its workload is learned; ignored
 * where it is not known */
void tracked_node_resize(struct tracked_node *node, uint64_t id, const struct pod_load *from,
                         const struct pod_load *to, const struct cluster_load *cluster);
/** tracked_node_end() - a pod is gone; ignored where it is not known */
void tracked_node_end(struct tracked_node *node, struct workload_set *workloads, uint64_t id,
                      const struct pod_load *request, int64_t gone_unix_ms);
/**
 * tracked_node_read() - a new reading
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM; a CPU reading teaches the workloads
 * @shorter:  a mean of the same resource over the end of the same window; NULL: there is none
 */
void tracked_node_read(struct tracked_node *node, struct workload_set *workloads, int resource,
                       const struct tracked_reading *reading, const struct tracked_reading *shorter,
                       const struct cluster_load *cluster);
/** tracked_node_expect_again() - of a pod again as if it had just been bound; ignored where it is
 * not known. The sums are right after tracked_node_begin_again() */
void tracked_node_expect_again(struct tracked_node *node, uint64_t id,
                               const struct pod_load *request, const struct cluster_load *cluster);
/** tracked_node_begin_again() - all pods are known now: the last readings as if they were the first
 */
void tracked_node_begin_again(struct tracked_node *node, const struct cluster_load *cluster);

/** tracked_node_overlap() - the part of the time in which the pod ran: 0 to 1 */
double tracked_node_overlap(const struct tracked_pod *pod, int64_t begins_unix_ms,
                            int64_t ends_unix_ms);
/** tracked_node_part() - the part of the last window in which pod @id ran; 0: none was read, or it
 * is not known */
double tracked_node_part(const struct tracked_node *node, uint64_t id, int resource);
/** tracked_node_base() - cores or bytes; of a node without a reading the cluster's */
double tracked_node_base(const struct tracked_node *node, int resource,
                         const struct cluster_load *cluster);
/** tracked_node_usage_ratio() - base and pods, of the capacity; 0 without one */
double tracked_node_usage_ratio(const struct tracked_node *node, int resource,
                                const struct cluster_load *cluster);
/** tracked_node_margin_ratio() - by how much its pods may use more than that, of the capacity: in
 * one case of four they use more still. 0 without a capacity */
double tracked_node_margin_ratio(const struct tracked_node *node, int resource);
/** tracked_node_noise_ratio() - by how much its readings jump, as learned; of the capacity. 0
 * without a capacity or a reading */
double tracked_node_noise_ratio(const struct tracked_node *node, int resource);
