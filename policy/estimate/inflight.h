/*
 * What a node's annotation cannot show yet: a mean over five minutes holds one fifth of a pod that
 * was bound a minute ago, and still four fifths of one that ended a minute ago. Four pods, and how
 * the window of the last reading sees each:
 *
 *     time          11:55                12:00  now
 *     window          |--------------------|     |
 *     a   ========================================     ov 1     adds 0
 *     b               |                ===========     ov 1/5   adds 4/5 of e
 *     c               |                    |  ====     ov 0     adds e
 *     d   =============================    |     |     ov 4/5   takes away 4/5 of e
 *
 * e is the pod's estimate (workload_estimate()), ov the part of the window in which it ran. For
 * each resource
 *
 *     K    = sum over live pods of e * (1 - ov)  -  sum over pods that are gone of e * ov
 *     held = sum over all pods of request * ov
 *
 * so reading + K / capacity is what the node uses once every binding has taken effect, and held is
 * what the pods requested that the reading shows. Neither depends on the clock: they move with
 * bindings, with deletions, and when a new annotation arrives.
 *
 * Pods like a are only counted, per workload (`settled`); b, c and d are kept one by one (`recent`)
 * until every window holds them whole, or nothing of them. Each new CPU annotation also teaches the
 * workloads whose pods have moved in or out of the window (workload.h). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/workload.h"

enum {
        INFLIGHT_MAX_RECENT = 4096,   /* pods of a node that came or went within a window */
        INFLIGHT_MAX_CHANGES = 64,    /* workloads that one reading teaches */
        INFLIGHT_MEMORY_MS = 3600000, /* an older reading counts as none */
};

#define INFLIGHT_LIVE INT64_MAX

/* A pod as its node sees it; `id` is unique on the node. */
struct inflight_pod {
        uint64_t id;
        struct workload *workload; /* NULL: it has no owner; held by whoever keeps the pod */
        struct pod_load request;
        int64_t bound_unix_ms;
        int64_t gone_unix_ms; /* INFLIGHT_LIVE */
};

/* A reading of one resource. */
struct inflight_reading {
        double ratio;         /* of the capacity */
        int64_t ends_unix_ms; /* of its window */
        int64_t window_ms;    /* > 0 */
};

/* The pods of one workload on a node; kept while there are any, now or in the last CPU window. */
struct inflight_group {
        struct workload *workload; /* held */
        uint32_t settled;          /* live pods that every window holds whole */
        uint32_t recent;           /* those in inflight.recent */
        double pods, pods_before;  /* in the last CPU window (sum of ov), and in the one before */
};

struct inflight {
        struct pod_load capacity;  /* 0: not known, then there is no K */
        struct pod_load requested; /* by live pods */
        struct pod_load held;      /* requested by the pods in the windows, see above */
        struct pod_load k;         /* K, in cores and bytes */
        struct inflight_reading readings[ESTIMATE_RESOURCE_COUNT]; /* window_ms 0: none yet */
        double cores_before;                                       /* the last CPU reading */
        struct inflight_pod *recent;
        size_t recent_count, recent_cap;
        struct inflight_group *groups;
        size_t group_count, group_cap;
};

/* Zero-initialised is a node without pods. */
void inflight_done(struct inflight *node, struct workload_set *workloads);

/** inflight_bind() - a pod was bound; one that is known already is not counted again */
void inflight_bind(struct inflight *node, struct workload_set *workloads,
                   const struct inflight_pod *pod, const struct load_factor *factor);
/** inflight_end() - a pod of inflight_bind() is gone, at pod->gone_unix_ms */
void inflight_end(struct inflight *node, struct workload_set *workloads,
                  const struct inflight_pod *pod, const struct load_factor *factor);
/**
 * inflight_read() - a new annotation
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM; a CPU reading teaches the workloads
 */
void inflight_read(struct inflight *node, struct workload_set *workloads, int resource,
                   const struct inflight_reading *reading, const struct load_factor *factor);

/** inflight_recount() - K anew, after the factor has moved much */
void inflight_recount(struct inflight *node, const struct load_factor *factor);

/** inflight_overlap() - the part of the window in which the pod ran: 0 to 1 */
double inflight_overlap(const struct inflight_pod *pod, const struct inflight_reading *reading);
/** inflight_expected_ratio() - what the live pods are expected to use, of the capacity, without a
 * reading; 0 without a capacity */
double inflight_expected_ratio(const struct inflight *node, int resource,
                               const struct load_factor *factor);
/** inflight_usage_ratio() - reading and what it does not show, of the capacity; >= 0. Without a
 * reading inflight_expected_ratio() */
double inflight_usage_ratio(const struct inflight *node, int resource,
                            const struct load_factor *factor);
