/*
 * The usage of a node: the usage of each of its pods, and a base that belongs to no pod.
 *
 *     usage = base + sum over live pods of m
 *
 * m is the usage of one pod. Its initial value is the expected load of a pod of the workload
 * (workload.h); the base starts as the cluster's mean base. A reading is the mean over a window; ov
 * is the part of the window in which a pod ran:
 *
 *     time          11:55                12:00  now
 *     window          |--------------------|     |
 *     a   ========================================     ov 1
 *     b               |                ===========     ov 1/5
 *     c               |                    |  ====     ov 0
 *     d   =============================    |     |     ov 4/5   gone
 *     e               |           - - - - -|- - -|     ov 0     bound, but not running yet
 *
 * So the reading should be base + sum of ov * m. If it is not, base and pods share the difference.
 * The part of each grows with its uncertainty (variance) and with its presence in the window. This
 * is a Kalman filter without covariances:
 *
 *     surprise  s  = reading - base - sum of ov * m          at most 3 sqrt(S) away from 0
 *     variance  S  = noise + variance of the base + sum of ov^2 * variance of m
 *     gain      g  = variance * ov / S
 *     m           += g * s
 *     variance    *= 1 - g * ov
 *
 * Guarantees: a live pod counts with all of m from its binding on, even if no window shows it yet,
 * and a pod that has ended does not count, even if a window still shows it. The first reading is
 * believed in full; after that, a single reading moves the estimate by at most 3 sqrt(S).
 *
 * Variances grow with time. Noise is learned per node from its surprises: if the readings of a node
 * jump, each of them changes less. But TRACKED_AWAY_MAX observations in a row that deviate by more
 * than sqrt(S) in the same direction are not noise: the node has changed, and the last of them is
 * believed in full. If there is a shorter mean with the same end, a reading is two observations:
 * the part of the longer window before the shorter one, and the shorter window.
 *
 * Each new CPU reading also teaches the workloads whose pods entered or left the window. The lesson
 * is doubtful if its window, or the one before it, began when some pods were unknown: the usage of
 * an unknown pod that has ended is missing from the later reading, so new pods would seem to use
 * less, on all nodes at the same time. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/workload.h"

enum {
        TRACKED_MAX_GONE = 4096,  /* ended pods of a node that are still in a window */
        TRACKED_MAX_CHANGES = 64, /* workloads taught by one reading */
        TRACKED_LESSONS = 10,     /* readings per window that teach */
        TRACKED_AWAY_MAX = 7,     /* observations in a row; see above */
        /* Without readings, an ended pod is kept for this long, or for the length of the window if
         * that is longer. */
        TRACKED_UNREAD_MS = 900000,
        /* No node uses more than twice its capacity, so a larger reading is an error and is
         * ignored. As a first reading, which is believed in full, it would stay in the node's base,
         * and distort the cluster's averages. */
        TRACKED_RATIO_MAX = 2,
};

#define TRACKED_NEVER INT64_MAX

/* A pod on its node. */
struct tracked_pod {
        uint64_t id;                         /* unique among the node's live pods */
        struct workload *workload;           /* a reference; NULL: the pod has no owner */
        int64_t runs_unix_ms, gone_unix_ms;  /* TRACKED_NEVER: not yet */
        float used[ESTIMATE_RESOURCE_COUNT]; /* m, in cores and bytes */
        float variance[ESTIMATE_RESOURCE_COUNT];
        float overlap; /* ov in the last window that taught workloads */
};

/* A reading of one resource. */
struct tracked_reading {
        double ratio;                         /* of the capacity */
        int64_t begins_unix_ms, ends_unix_ms; /* the time that it is the mean of */
        int64_t window_ms; /* the metric's window, > 0; begins_unix_ms is later while it fills */
};

struct tracked_node {
        struct pod_load capacity;      /* 0: unknown; then readings are ignored */
        struct pod_load requested;     /* the requests of live pods */
        struct pod_load pods_used;     /* the sum of m over live pods */
        struct pod_load pods_variance; /* the variance of that sum, for the margin */
        struct pod_load base, base_variance, noise;
        /* Successive observations that deviate in the same direction; negative: below expectation.
         */
        int away[ESTIMATE_RESOURCE_COUNT];
        struct tracked_reading readings[ESTIMATE_RESOURCE_COUNT]; /* window_ms 0: none yet */
        struct tracked_reading taught; /* the last CPU reading that taught; window_ms 0: none yet */
        struct tracked_pod *pods;
        size_t pod_count, pod_cap, gone_count;
};

/* Zero-initialised: a node without pods. */
void tracked_node_done(struct tracked_node *node, struct workload_set *workloads);

/** tracked_node_bind() - a new pod was bound to the node
 * @request: as pod_load_counted()
 * @runs_unix_ms: the time of its start; TRACKED_NEVER: not yet */
void tracked_node_bind(struct tracked_node *node, uint64_t id, struct workload *workload,
                       const struct pod_load *request, int64_t runs_unix_ms,
                       const struct cluster_load *cluster);
/** tracked_node_start() - a pod has started; ignored if it is unknown or runs already. Return:
 * false if it was ignored */
bool tracked_node_start(struct tracked_node *node, uint64_t id, int64_t runs_unix_ms);
/** tracked_node_resize() - a pod now requests @to instead of @from, both as pod_load_counted(). Its
 * expected load changes in proportion, except for its cores if its workload is learned. Ignored if
 * the pod is unknown */
void tracked_node_resize(struct tracked_node *node, uint64_t id, const struct pod_load *from,
                         const struct pod_load *to, const struct cluster_load *cluster);
/** tracked_node_end() - a pod has ended; ignored if it is unknown */
void tracked_node_end(struct tracked_node *node, struct workload_set *workloads, uint64_t id,
                      const struct pod_load *request, int64_t gone_unix_ms);
/** tracked_node_set_back() - the wall clock was set back: shift start and end times that are now in
 * the future. Otherwise, no window would include pods that have started, and all windows would
 * include pods that have ended */
void tracked_node_set_back(struct tracked_node *node, int64_t by_ms, int64_t now_unix_ms);
/**
 * tracked_node_read() - a new reading
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM; a CPU reading teaches the workloads
 * @shorter:  a mean of the same resource over a shorter window with the same end; NULL: none
 */
void tracked_node_read(struct tracked_node *node, struct workload_set *workloads, int resource,
                       const struct tracked_reading *reading, const struct tracked_reading *shorter,
                       const struct cluster_load *cluster);
/** tracked_node_expect_again() - reset the expected load of a pod as if it was just bound; ignored
 * if it is unknown. Call tracked_node_begin_again() afterwards, which updates the sums */
void tracked_node_expect_again(struct tracked_node *node, uint64_t id,
                               const struct pod_load *request, const struct cluster_load *cluster);
/** tracked_node_begin_again() - all pods are known now: treat the last readings as first readings
 */
void tracked_node_begin_again(struct tracked_node *node, const struct cluster_load *cluster);

/** tracked_node_overlap() - the part of the interval in which the pod ran: 0 to 1 */
double tracked_node_overlap(const struct tracked_pod *pod, int64_t begins_unix_ms,
                            int64_t ends_unix_ms);
/** tracked_node_part() - the part of the last window in which pod @id ran; 0 without a reading, or
 * if the pod is unknown */
double tracked_node_part(const struct tracked_node *node, uint64_t id, int resource);
/** tracked_node_base() - in cores or bytes; the cluster's mean base for a node without a reading */
double tracked_node_base(const struct tracked_node *node, int resource,
                         const struct cluster_load *cluster);
/** tracked_node_usage_ratio() - base and pods, as a share of the capacity; 0 without a capacity */
double tracked_node_usage_ratio(const struct tracked_node *node, int resource,
                                const struct cluster_load *cluster);
/** tracked_node_margin_ratio() - the margin for pods that use more than expected, as a share of the
 * capacity. It suffices in three of four cases. 0 without a capacity */
double tracked_node_margin_ratio(const struct tracked_node *node, int resource);
/** tracked_node_noise_ratio() - the learned standard deviation of its readings, as a share of the
 * capacity; 0 without a capacity or a reading */
double tracked_node_noise_ratio(const struct tracked_node *node, int resource);
