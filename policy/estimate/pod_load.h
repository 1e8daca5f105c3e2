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

/** pod_load_factor_init() - before anything is known: 1 */
void pod_load_factor_init(struct load_factor *factor);
/**
 * pod_load_factor_move() - a step towards what was measured; every POD_LOAD_FACTOR_STEP_MS
 * @measured, @requested: sums over all nodes with a fresh reading: used, and requested by the pods
 *                        that the windows hold; a sum of 0 moves nothing
 */
void pod_load_factor_move(struct load_factor *factor, const struct pod_load *measured,
                          const struct pod_load *requested);

/* Nodes whose pods were listed, one now and then: what they use and what their pods request, as
 * shares of the capacity, the latest counting most. Zero-initialised: none yet. */
struct load_sample {
        double measured[ESTIMATE_RESOURCE_COUNT], requested[ESTIMATE_RESOURCE_COUNT];
};

/**
 * pod_load_factor_sample() - one more node, where not all pods are known at a time
 *
 *     factor = (P + sum of w * measured) / (P + sum of w * requested)
 *
 * with w = 0.98 ^ (nodes since), and P = 0.2, as if a fifth of a node had been seen to be used as
 * requested: so the first nodes move the factor the less, the less their pods request.
 *
 * @measured_ratio, @requested_ratio: of the capacity, cut to 0 to 1, which is more than a scheduler
 *                                    gives to a node; NaN: the node is not counted
 */
void pod_load_factor_sample(struct load_factor *factor, struct load_sample *sample, int resource,
                            double measured_ratio, double requested_ratio);
