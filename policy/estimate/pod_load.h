/*
 * Cores and bytes of one pod or of several; and the factor: what the pods of a cluster use, as a
 * share of what they request. Pure.
 */
#pragma once

#include <stdint.h>

enum { ESTIMATE_CPU, ESTIMATE_MEM, ESTIMATE_RESOURCE_COUNT };

enum { POD_LOAD_FACTOR_STEP_MS = 15000 };
#define POD_LOAD_FACTOR_STEP 0.03

/* Cores and bytes. */
struct pod_load {
        double of[ESTIMATE_RESOURCE_COUNT];
};

/** pod_load_counted() - a request as it counts: a pod that requests no CPU counts as 100m, one that
 * requests no memory as 200 MiB, as in kube-scheduler's NodeResourcesFit (NonZeroRequested) */
struct pod_load pod_load_counted(const struct pod_load *request);

/* What pods use as a share of what they request, over the whole cluster: 0.05 to 20. */
struct load_factor {
        double ratio[ESTIMATE_RESOURCE_COUNT];
};

/* What is expected of a pod or a node of which nothing is known, and what a reading may teach. */
struct cluster_load {
        struct load_factor factor;
        double base_ratio[ESTIMATE_RESOURCE_COUNT]; /* the mean base of the nodes, of the capacity
                                                     */
        /* All pods that have run since then are known. INT64_MAX: not all that run now are. */
        int64_t pods_known_since_unix_ms;
};

/** pod_load_factor_init() - before anything is known: 1 */
void pod_load_factor_init(struct load_factor *factor);
/** pod_load_factor_move() - towards a factor of pods that were measured
 * @ratios: NAN changes nothing
 * @share:  of the way there: 1, or POD_LOAD_FACTOR_STEP every POD_LOAD_FACTOR_STEP_MS */
void pod_load_factor_move(struct load_factor *factor, double share,
                          const double ratios[static ESTIMATE_RESOURCE_COUNT]);
