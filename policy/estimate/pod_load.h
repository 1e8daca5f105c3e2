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
