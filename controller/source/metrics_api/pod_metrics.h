/*
 * What pods use by metrics.k8s.io, for those whose kubelets cannot be read: one list of all pods
 * per round of the pod set. Most clusters have metrics-server, and it may read kubelets even where
 * the controller may not.
 *
 * A list has 400 bytes for a container, so it is asked for only while its owner says so.
 */
#pragma once

#include "base/attributes.h"
#include "controller/pods/pod_set.h"
#include "kube/kube_api.h"
#include "net/loop.h"

struct pod_metrics;

/** pod_metrics_is_needed_fn: whether a list is of use now */
typedef bool pod_metrics_is_needed_fn(void *userdata);

/** pod_metrics_new() - the first list follows a round later; all are borrowed */
struct pod_metrics *pod_metrics_new(struct loop *loop, struct kube_api *api, struct pod_set *set,
                                    pod_metrics_is_needed_fn *is_needed, void *userdata);
void pod_metrics_free(struct pod_metrics *metrics);
DEFINE_FREEP(struct pod_metrics, pod_metrics_free);
