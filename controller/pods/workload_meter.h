/*
 * What pods and their workloads use, from samples of pods. Pure: the time is an argument.
 *
 *     sample of a pod (its CPU over a minute or less, its memory)
 *       -> the pod's own mean       exponential, time constant POD_METER_MS: as old as a mean over
 *                                   5 minutes; valid after POD_METER_SAMPLES samples or that time
 *       -> its workload, at most its bound
 *            mean and spread        of a pod, over the last ten minutes with samples: they stand
 *                                   still while no pod runs, so a nightly job is remembered
 *            histograms             policy/usage/usage_histogram.h
 *            maximum                of this week and the last one
 *
 * A kubelet can lie about its pods. So that it misjudges its own node only, a workload takes at
 * most `bound` from a pod: WORKLOAD_METER_BOUND times the median over nodes of its pods' means, or
 * as much times the request, while it runs on three nodes or more.
 *
 * Memory: 1,100 bytes for a workload, at most WORKLOADS_METERED_MAX. Those that have had no pod for
 * WORKLOAD_METER_KEPT_MS are forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/strmap.h"
#include "policy/usage/workload_usage.h"

enum {
        POD_METER_MS = 150000,
        POD_METER_SAMPLES = 4,
        WORKLOADS_METERED_MAX = 50000, /* further ones are not measured */
        WORKLOAD_METER_BOUND = 4,
        WORKLOAD_METER_BOUND_NODES = 3,
        WORKLOAD_METER_KEPT_MS = 14 * 86400000,
};

/* The own mean of a pod. Zero-initialised: none. */
struct pod_meter {
        float mean[ESTIMATE_RESOURCE_COUNT];
        float weight;     /* of the mean: approaches 1 */
        float measured_s; /* the time of all samples */
        uint8_t samples;  /* at most POD_METER_SAMPLES */
};

/* The owner may read the members. */
struct metered_workload {
        size_t name_len;
        double minutes; /* of samples in mean and spread, with less weight for older ones */
        double variance[ESTIMATE_RESOURCE_COUNT];
        double requested[ESTIMATE_RESOURCE_COUNT]; /* by all pods */
        float bound[ESTIMATE_RESOURCE_COUNT];      /* 0: none */
        int64_t faded_unix_ms;                     /* the time of its histograms */
        struct pod_load told_mean;                 /* for usage_store.h: in the last text */
        struct workload_usage usage;               /* p95 is set by workload_meter_show() */
        char name[];                               /* ends with a NUL */
};

struct workload_meter {
        struct strmap workloads; /* name -> struct metered_workload, owned */
};

void workload_meter_done(struct workload_meter *meter);

/** workload_meter_join() - a pod of the workload begins; NULL: it is not measured */
struct metered_workload *workload_meter_join(struct workload_meter *meter, const char *name,
                                             size_t name_len, const struct pod_load *request,
                                             bool is_guaranteed);
/** workload_meter_leave() - a pod with that request ends; @workload can be NULL */
void workload_meter_leave(struct metered_workload *workload, const struct pod_load *request);

/**
 * workload_meter_add() - a sample of a pod
 * @workload: NULL: it has none
 * @load:     finite, >= 0
 * @step_s:   the time that it covers, > 0
 */
void workload_meter_add(struct metered_workload *workload, struct pod_meter *pod,
                        const struct pod_load *load, double step_s, int64_t now_unix_ms);

/** workload_meter_pod_mean() - false: there are too few samples */
_must_check_ bool workload_meter_pod_mean(const struct pod_meter *pod, struct pod_load *ret);
/** workload_meter_mean() - false: nothing is known; @workload can be NULL */
_must_check_ bool workload_meter_mean(const struct metered_workload *workload,
                                      struct pod_load *ret);

/* The own mean of a pod, for workload_meter_bound(). */
struct metered_pod {
        struct metered_workload *workload;
        uint32_t node; /* any number that is the node's */
        float mean[ESTIMATE_RESOURCE_COUNT];
};
/** workload_meter_bound() - set the bounds of all workloads; call it about once a minute
 * @pods: all pods with a mean and a workload; sorted here */
void workload_meter_bound(struct workload_meter *meter, struct metered_pod *pods, size_t count);

/** workload_meter_show() - the workload with p95 and histograms as of now; NULL: nothing is known
 */
const struct workload_usage *workload_meter_show(struct metered_workload *workload,
                                                 int64_t now_unix_ms);
/** workload_meter_import() - take over what another replica has measured; pods stay */
void workload_meter_import(struct workload_meter *meter, const struct workload_usage_name *name,
                           const struct workload_usage *usage);
/** workload_meter_prune() - forget workloads that have had no pod for long */
void workload_meter_prune(struct workload_meter *meter, int64_t now_unix_ms);
