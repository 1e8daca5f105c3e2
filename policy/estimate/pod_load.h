/*
 * Cores and bytes of a pod or of many, and the factor between what the pods of a cluster use and
 * what they request. Pure.
 */
#pragma once

enum { ESTIMATE_CPU, ESTIMATE_MEM, ESTIMATE_RESOURCE_COUNT };

enum { POD_LOAD_FACTOR_STEP_MS = 15000 };

/* Cores and bytes. */
struct pod_load {
        double of[ESTIMATE_RESOURCE_COUNT];
};

/** pod_load_counted() - what a request counts as: where a pod requests none of a resource, 100m or
 * 200 MiB, as NodeResourcesFit scores it (NonZeroRequested in kube-scheduler) */
struct pod_load pod_load_counted(const struct pod_load *request);

/* What pods use as a share of what they request, over the whole cluster: 0.05 to 20. */
struct load_factor {
        double ratio[ESTIMATE_RESOURCE_COUNT];
};

/* What is expected where nothing is known of a pod or of a node. */
struct cluster_load {
        struct load_factor factor;
        double base_ratio[ESTIMATE_RESOURCE_COUNT]; /* of the capacity: what no pod uses, as a mean
                                                     */
};

/** pod_load_factor_init() - before anything is known: 1 */
void pod_load_factor_init(struct load_factor *factor);
/** pod_load_factor_set() - @used by the pods that request @requested, over all nodes with a fresh
 * reading; a sum of 0 changes nothing */
void pod_load_factor_set(struct load_factor *factor, const struct pod_load *used,
                         const struct pod_load *requested);
/** pod_load_factor_move() - a step towards that; every POD_LOAD_FACTOR_STEP_MS */
void pod_load_factor_move(struct load_factor *factor, const struct pod_load *used,
                          const struct pod_load *requested);
