/*
 * Reports bindings of pods as they happen, from a watch of pending pods that have a node.
 * Kubernetes sets spec.nodeName once, so each binding is one object that begins to match. Each pod
 * uid counts once, at the time given by pod_watch.h: by our clock, since the API server's clock may
 * differ by more than the minute that a hot value covers.
 *
 * Guarantee: no burst of bindings is lost. After the start and after each new list, all pods that
 * were bound within `recent_ms` are reported, whatever their phase. Mirror pods (static pods of a
 * kubelet) and pods of DaemonSets are ignored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/kube_api.h"
#include "kube/reflector.h"
#include "metrics/metrics.h"

struct binding_watch;

/** binding_fn: a pod was bound to @node at @at_unix_ms, which is not in the future */
typedef void binding_fn(void *userdata, const char *node, int64_t at_unix_ms);

/** binding_watch_new() - starts at once
 * @recent_ms: fixed; for an earlier past, begin another watch */
struct binding_watch *binding_watch_new(struct loop *loop, struct kube_api *api,
                                        struct metrics *metrics, int64_t recent_ms, binding_fn *fn,
                                        void *userdata);
void binding_watch_free(struct binding_watch *watch);

/** binding_watch_is_live() - listed once, and the watch is open */
bool binding_watch_is_live(const struct binding_watch *watch);
/** binding_watch_reflector() - for readiness checks; borrowed */
const struct reflector *binding_watch_reflector(const struct binding_watch *watch);
