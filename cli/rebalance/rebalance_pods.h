/*
 * The bound pods of a cluster as a plan needs them (policy/rebalance/rebalance.h), with what the
 * extender's estimate expects each of them to use.
 */
#pragma once

#include "cli/cluster/cluster.h"
#include "cli/explanation/explanation.h"
#include "policy/rebalance/rebalance.h"

/* Who a pod is. */
struct rebalance_name {
        char *namespace, *name, *uid;
        char *text;      /* of the Pod in JSON, once it was read; NULL: not yet */
        const char *why; /* it must not be moved; constant text. NULL: it may */
};

struct rebalance_pods {
        struct cluster *cluster;             /* borrowed */
        const struct explanation *explained; /* ditto: nodes, and the estimate */
        int64_t priority_max;                /* of pods that may move */
        struct rebalance_pod *pods;
        struct rebalance_name *names; /* [pod] */
        size_t count, cap, name_cap;
        struct pod_load *free;   /* [row]: allocatable less what the pods request */
        struct strmap workloads; /* name -> struct rebalance_workload */
};

/** rebalance_pods_list() - @ret is released with rebalance_pods_done(), also after a failure, and
 * is not to be moved Return: 0; negative errno when the pods cannot be listed */
_must_check_ int rebalance_pods_list(struct cluster *cluster, const struct explanation *explained,
                                     int64_t priority_max, struct rebalance_pods *ret,
                                     struct error *err);
void rebalance_pods_done(struct rebalance_pods *pods);

/** rebalance_pods_read() - read_pod() of struct rebalance_input: get the Pod and the controller
 * that owns it, and say in `why` what speaks against an eviction */
bool rebalance_pods_read(void *userdata, size_t pod, struct pod_facts *ret);

/**
 * rebalance_pods_evict() - by the Eviction API, which lets PodDisruptionBudgets decide
 * Return: KUBE_OK; KUBE_THROTTLED: a budget refuses; KUBE_NOT_FOUND, KUBE_CONFLICT: the pod is gone
 */
enum kube_outcome rebalance_pods_evict(struct cluster *cluster, const struct rebalance_name *pod,
                                       struct error *err);
