/*
 * What a node uses: what each of its pods uses, and a base that belongs to no pod.
 *
 *     usage = base + sum over live pods of m
 *
 * m is what one pod uses. It begins as what is expected of a pod of its workload (workload.h); the
 * base begins as the cluster's mean base. A reading is the mean over a window; ov is the part of
 * the window in which a pod ran:
 *
 *     time          11:55                12:00  now
 *     window          |--------------------|     |
 *     a   ========================================     ov 1
 *     b               |                ===========     ov 1/5
 *     c               |                    |  ====     ov 0
 *     d   =============================    |     |     ov 4/5   gone
 *     e               |           - - - - -|- - -|     ov 0     bound, but not running yet
 *
 * So the reading should be base + sum of ov * m. If it is not, base and pods share the difference:
 * each takes the more, the less is known of it (its variance) and the more the window holds of it.
 * This is a Kalman filter without covariances:
 *
 *     surprise  s  = reading - base - sum of ov * m          at most 3 sqrt(S) away from 0
 *     variance  S  = noise + variance of the base + sum of ov^2 * variance of m
 *     gain      g  = variance * ov / S
 *     m           += g * s
 *     variance    *= 1 - g * ov
 *
 * From its binding on, a live pod counts with all of m, even if no window shows it yet. A pod that
 * is gone counts nothing, even if a window still shows it. Variances grow with time. Noise is
 * learned per node from its surprises: if a node's readings jump, each of them changes less. But
 * if TRACKED_AWAY_MAX observations in a row are more than sqrt(S) away, all to the same side, that
 * is no noise: the node is another than it was, and the last of them is believed as a first one is.
 * If there is also a shorter mean with the same end, a reading is two observations: the part of the
 * longer window before the shorter one, and the shorter window.
 *
 * Each new CPU reading also teaches the workloads whose pods entered or left the window. It does so
 * in doubt if its window, or the one before it, began when not all pods were known: what a pod used
 * that ended before anybody knew of it is missing from the later reading, so those that came
 * meanwhile would seem to use that much less, and on all nodes at once. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/workload.h"

enum {
        TRACKED_MAX_GONE = 4096,  /* pods of a node that are gone, but still in a window */
        TRACKED_MAX_CHANGES = 64, /* workloads that one reading teaches */
        TRACKED_LESSONS = 10,     /* readings that teach, in the time of a window */
        TRACKED_AWAY_MAX = 7,     /* observations in a row; see above */
        /* A pod that is gone is kept so long if no reading comes. In a longer window it is kept as
         * long as the window is. */
        TRACKED_UNREAD_MS = 900000,
        /* No node uses twice what it has, so a larger reading is no ratio, and counts as none. The
         * first one is believed whole: such a one would stay in the node's base for good, and be in
         * the cluster's averages. */
        TRACKED_RATIO_MAX = 2,
};

#define TRACKED_NEVER INT64_MAX

/* A pod on its node. */
struct tracked_pod {
        uint64_t id;                         /* unique among the node's live pods */
        struct workload *workload;           /* held; NULL: it has no owner */
        int64_t runs_unix_ms, gone_unix_ms;  /* TRACKED_NEVER: not yet */
        float used[ESTIMATE_RESOURCE_COUNT]; /* m, in cores and bytes */
        float variance[ESTIMATE_RESOURCE_COUNT];
        float overlap; /* ov in the last window that taught, for workload.h */
};

/* A reading of one resource. */
struct tracked_reading {
        double ratio;                         /* of the capacity */
        int64_t begins_unix_ms, ends_unix_ms; /* the time that it is the mean of */
        int64_t window_ms; /* the metric's, > 0; a window that is not full yet begins later */
};

struct tracked_node {
        struct pod_load capacity;      /* 0: not known; then readings are ignored */
        struct pod_load requested;     /* by live pods */
        struct pod_load pods_used;     /* by live pods: sum of m */
        struct pod_load pods_variance; /* of that sum, for the margin */
        struct pod_load base, base_variance, noise;
        /* Observations in a row that were away to the same side; below 0: less than expected. */
        int away[ESTIMATE_RESOURCE_COUNT];
        struct tracked_reading readings[ESTIMATE_RESOURCE_COUNT]; /* window_ms 0: none yet */
        struct tracked_reading taught; /* the last one of CPU that taught; window_ms 0: none yet */
        struct tracked_pod *pods;
        size_t pod_count, pod_cap, gone_count;
};

/* A zero-initialised struct is a node without pods. */
void tracked_node_done(struct tracked_node *node, struct workload_set *workloads);

/** tracked_node_bind() - a pod was bound to the node, which does not have it yet
 * @request: as pod_load_counted()
 * @runs_unix_ms: since when it runs; TRACKED_NEVER: not yet */
void tracked_node_bind(struct tracked_node *node, uint64_t id, struct workload *workload,
                       const struct pod_load *request, int64_t runs_unix_ms,
                       const struct cluster_load *cluster);
/** tracked_node_start() - a pod has started; ignored if it is not known, or runs already. Return:
 * whether it is news */
bool tracked_node_start(struct tracked_node *node, uint64_t id, int64_t runs_unix_ms);
/** tracked_node_resize() - a pod now requests @to instead of @from, both as pod_load_counted().
 * What it is expected to use changes in proportion; its cores do not if its workload is learned.
 * Ignored if the pod is not known */
void tracked_node_resize(struct tracked_node *node, uint64_t id, const struct pod_load *from,
                         const struct pod_load *to, const struct cluster_load *cluster);
/** tracked_node_end() - a pod is gone; ignored if it is not known */
void tracked_node_end(struct tracked_node *node, struct workload_set *workloads, uint64_t id,
                      const struct pod_load *request, int64_t gone_unix_ms);
/** tracked_node_set_back() - the wall clock was set back: pods that are said to start or to end
 * later than now did so that much earlier. Until then, no window would be expected to hold those
 * that have started, and each window those that are gone */
void tracked_node_set_back(struct tracked_node *node, int64_t by_ms, int64_t now_unix_ms);
/**
 * tracked_node_read() - a new reading
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM; a CPU reading teaches the workloads
 * @shorter:  a mean of the same resource over the end of the same window; NULL: there is none
 */
void tracked_node_read(struct tracked_node *node, struct workload_set *workloads, int resource,
                       const struct tracked_reading *reading, const struct tracked_reading *shorter,
                       const struct cluster_load *cluster);
/** tracked_node_expect_again() - expect of a pod what is expected of one that was just bound;
 * ignored if it is not known. Call tracked_node_begin_again() afterwards, which corrects the sums
 */
void tracked_node_expect_again(struct tracked_node *node, uint64_t id,
                               const struct pod_load *request, const struct cluster_load *cluster);
/** tracked_node_begin_again() - all pods are known now: take the last readings as if they were the
 * first ones */
void tracked_node_begin_again(struct tracked_node *node, const struct cluster_load *cluster);

/** tracked_node_overlap() - the part of the time in which the pod ran: 0 to 1 */
double tracked_node_overlap(const struct tracked_pod *pod, int64_t begins_unix_ms,
                            int64_t ends_unix_ms);
/** tracked_node_part() - the part of the last window in which pod @id ran; 0 without a reading, or
 * if the pod is not known */
double tracked_node_part(const struct tracked_node *node, uint64_t id, int resource);
/** tracked_node_base() - in cores or bytes; the cluster's mean base for a node without a reading */
double tracked_node_base(const struct tracked_node *node, int resource,
                         const struct cluster_load *cluster);
/** tracked_node_usage_ratio() - base and pods, as a share of the capacity; 0 without a capacity */
double tracked_node_usage_ratio(const struct tracked_node *node, int resource,
                                const struct cluster_load *cluster);
/** tracked_node_margin_ratio() - how much more than expected its pods may use, as a share of the
 * capacity; in one case of four they use more still. 0 without a capacity */
double tracked_node_margin_ratio(const struct tracked_node *node, int resource);
/** tracked_node_noise_ratio() - by how much its readings jump, as learned; of the capacity. 0
 * without a capacity or a reading */
double tracked_node_noise_ratio(const struct tracked_node *node, int resource);
