/*
 * The bound pods of a cluster as a plan needs them (policy/rebalance/rebalance.h), with what each
 * of them uses: as it is measured on hot nodes, or else as pods of its workload do.
 */
#pragma once

#include "base/strmap.h"
#include "cli/cluster/cluster.h"
#include "policy/rebalance/rebalance.h"

/* Who a pod is. */
struct rebalance_name {
        char *namespace, *name, *uid, *workload;
        json_t *object; /* the Pod, once it was read; NULL: not yet */
        char *why;      /* it must not be moved; NULL: it may */
};

/* Set the first members; the others are zero. It must not be moved. */
struct rebalance_pods {
        struct cluster *cluster; /* borrowed */
        const json_t *page;      /* ditto: /nodes of an extender */
        int64_t priority_max;    /* of pods that may move */
        bool needs_right;        /* to evict: without it, no pod may move */

        struct rebalance_pod *pods;
        struct rebalance_name *names; /* [pod] */
        size_t count, cap, name_cap;
        struct rebalance_row *rows; /* of the page, in its order */
        size_t row_count;
        struct strmap row_of;     /* name of a node -> its row plus 1 */
        struct strmap workloads;  /* name -> struct rebalance_workload */
        struct strmap schedulers; /* name -> struct rebalance_scheduler */
        json_t *usage; /* "namespace/name" -> the mean that is measured; without all other pods */
        char *why_unasked; /* why an extender did not answer whether it was asked; NULL: all did */
};

/** rebalance_pods_nodes() - read the rows from the page */
void rebalance_pods_nodes(struct rebalance_pods *pods);
/** rebalance_pods_node() - the name of a row */
const char *rebalance_pods_node(const struct rebalance_pods *pods, uint32_t row);
/** rebalance_pods_row() - the row of a node; REBALANCE_UNKNOWN: there is none */
uint32_t rebalance_pods_row(const struct rebalance_pods *pods, const char *name);

/** rebalance_pods_list() - list the pods, what they use, and which schedulers ask an extender
 * @hot: a plan without pods; has the nodes whose pods are measured
 * Return: 0; negative errno if the pods cannot be listed */
_must_check_ int rebalance_pods_list(struct rebalance_pods *pods, const struct rebalance_plan *hot,
                                     struct error *err);
void rebalance_pods_done(struct rebalance_pods *pods);

/** rebalance_pods_read() - read_pod() of struct rebalance_input: get the Pod and the controller
 * that owns it, ask the API server whether it would evict the pod now, and say in `why` what speaks
 * against an eviction */
bool rebalance_pods_read(void *userdata, size_t pod);
/** rebalance_pods_ask() - ask() of struct rebalance_input: ask an extender */
void rebalance_pods_ask(void *userdata, size_t pod, double *ret_headroom);

/**
 * rebalance_pods_evict() - by the Eviction API, which lets PodDisruptionBudgets decide
 * @is_dry_run:      only ask whether the pod could be evicted
 * @give_up_mono_ms: no eviction is requested after this time; 0: none
 * Return: KUBE_OK; KUBE_THROTTLED: a budget refuses; KUBE_NOT_FOUND, KUBE_CONFLICT: the pod is gone
 */
enum kube_outcome rebalance_pods_evict(const struct rebalance_pods *pods, size_t index,
                                       bool is_dry_run, int64_t give_up_mono_ms, struct error *err);
