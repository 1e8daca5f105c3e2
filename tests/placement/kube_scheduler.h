/*
 * What kube-scheduler by itself makes of a pod and the nodes, with its default plugins and weights,
 * by the documentation and by the source of v1.37.2; paths are below
 * https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/scheduler/
 *
 *     sampling  as many nodes with room as percentageOfNodesToScore asks for, the search going on
 *               where the last one ended: schedule_one.go, numFeasibleNodesToFind();
 *               https://kubernetes.io/docs/concepts/scheduling-eviction/scheduler-perf-tuning/
 *     filter    NodeResourcesFit: requests, and 110 pods; PodTopologySpread, if the scenario asks
 *               for a hard spread over zones
 *     scores    apis/config/v1/default_plugins.go:
 *               1 x NodeResourcesFit, LeastAllocated: framework/plugins/noderesources/
 *                 least_allocated.go; what requests nothing counts 100m and 200Mi (util/
 *                 pod_resources.go). With is_packing most_allocated.go
 *               1 x NodeResourcesBalancedAllocation: framework/plugins/noderesources/
 *                 balanced_allocation.go: by how much the pod betters the balance
 *               2 x PodTopologySpread: framework/plugins/podtopologyspread/scoring.go, by its
 *                 default constraints (plugin.go: host name with maxSkew 3, zone with 5), for pods
 *                 of a ReplicaSet (framework/plugins/helper/spread.go: not for those of a Job)
 *     choice    the highest sum; by chance among equals
 *
 * TaintToleration, NodeAffinity and InterPodAffinity say the same of every node here, and
 * ImageLocality too: it counts images of more than 23 MB, and none have a size. Pods are never
 * batched: PodTopologySpread's default constraints forbid it (SignPod() in plugin.go).
 */
#pragma once

#include "algorithm.h"

struct kube_scheduler;

struct kube_scheduler *kube_scheduler_new(const struct world *world);
void kube_scheduler_free(struct kube_scheduler *scheduler);
DEFINE_FREEP(struct kube_scheduler, kube_scheduler_free);

/** kube_scheduler_count() - @change: 1: @pod has its node; -1: it has left it */
void kube_scheduler_count(struct kube_scheduler *scheduler, const struct pod *pod, int change);
/** kube_scheduler_filter() - Return: how many nodes may have the pod, in @ret_candidates
 * @is_whole: all of them, for kube_scheduler_pass() */
size_t kube_scheduler_filter(struct kube_scheduler *scheduler, const struct pod *pod, bool is_whole,
                             uint32_t *ret_candidates);
/** kube_scheduler_pass() - where a plugin filters, too: the search ends when enough have passed
 * Return: of how many @candidates */
size_t kube_scheduler_pass(struct kube_scheduler *scheduler, const uint32_t *candidates,
                           size_t count, const int *scores);
/**
 * kube_scheduler_choose() - among the candidates that @algorithm has not rejected
 * @scores: of @algorithm, for each candidate
 * Return: the node; the world's node_count when there is none
 */
size_t kube_scheduler_choose(struct kube_scheduler *scheduler, const struct algorithm *algorithm,
                             const struct pod *pod, const uint32_t *candidates, size_t count,
                             const int *scores);
