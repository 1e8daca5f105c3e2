/*
 * Where only pods that were just bound are watched: lists the pods of one node after the other, as
 * the estimator asks for them.
 *
 * The API server has an index of its pods by node (Indexers() of
 * k8s.io/kubernetes/pkg/registry/core/pod/strategy.go), and with resourceVersion=0 it answers from
 * memory, as it does each kubelet. So such a list costs it that node's pods, and not all of them.
 */
#pragma once

#include "base/attributes.h"
#include "extender/estimator/estimator.h"
#include "kube/kube_api.h"
#include "net/loop.h"

struct pod_sample;

/** pod_sample_new() - begins on the loop's next turn; all is borrowed and outlives it.
 * @on_change: after a list, which may have changed the node's usage */
struct pod_sample *pod_sample_new(struct loop *loop, struct kube_api *api,
                                  struct estimator *estimator, void (*on_change)(void *userdata),
                                  void *userdata);
void pod_sample_free(struct pod_sample *samples);
DEFINE_FREEP(struct pod_sample, pod_sample_free);
