/*
 * The load of pods in cores and bytes, and the cluster's factor: the usage of pods as a share of
 * their requests. Pure.
 */
#pragma once

enum { ESTIMATE_CPU, ESTIMATE_MEM, ESTIMATE_RESOURCE_COUNT };

/* Cores and bytes. */
struct pod_load {
        double of[ESTIMATE_RESOURCE_COUNT];
};

/** pod_load_counted() - the request, or 100m for a pod that requests no CPU and 200 MiB for a pod
 * that requests no memory, as in kube-scheduler's NodeResourcesFit (NonZeroRequested) */
struct pod_load pod_load_counted(const struct pod_load *request);

/* The usage of all pods in the cluster as a share of their requests: 0.05 to 20. */
struct load_factor {
        double ratio[ESTIMATE_RESOURCE_COUNT];
};

/* What to expect from unknown pods and nodes. */
struct cluster_load {
        struct load_factor factor;
        double base_ratio[ESTIMATE_RESOURCE_COUNT]; /* the mean base of nodes, per capacity */
};

/** pod_load_factor_init() - 1, as long as nothing is known */
void pod_load_factor_init(struct load_factor *factor);
/** pod_load_factor_set() - take over a measured factor; NAN changes nothing */
void pod_load_factor_set(struct load_factor *factor,
                         const double ratios[static ESTIMATE_RESOURCE_COUNT]);
