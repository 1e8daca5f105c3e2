/*
 * Bindings as they happen: a watch on pods that have a node and are still pending. Binding sets
 * spec.nodeName in one transaction, so each binding is one object that begins to match; counted
 * once per pod uid, at the moment when it is seen: the API server's clock may differ from ours by
 * more than the minute that a hot value looks back. What is listed, or what comes with a delay that
 * clocks do not explain, is stamped with the PodScheduled condition's time.
 *
 * At start, and when the watch has lost its position, pods of any phase that were bound within
 * `recent_ms` are reported too, so that neither forgets a burst. Mirror pods (static pods of a
 * kubelet) and pods of a DaemonSet are left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/reflector.h"

struct binding_watch;

/** on_binding: pod bound to @node at @at_unix_ms, not after now */
typedef void binding_fn(void *userdata, const char *node, int64_t at_unix_ms);

struct binding_watch *binding_watch_new(struct loop *loop, struct kube_api *api,
                                        struct metrics *metrics, int64_t recent_ms, binding_fn *fn,
                                        void *userdata);
void binding_watch_free(struct binding_watch *watch);
DEFINE_FREEP(struct binding_watch, binding_watch_free);

/** binding_watch_is_live() - are bindings being seen? All were listed, and the watch is open */
bool binding_watch_is_live(const struct binding_watch *watch);
/** binding_watch_reflector() - for readiness and trouble; borrowed */
const struct reflector *binding_watch_reflector(const struct binding_watch *watch);
