/*
 * How many pods each node was given lately, from a watch on pods: the hot value's raw material.
 * Kept by node name, since a pod may be bound to a node that we have not seen yet; nodes without
 * recent bindings take no memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "kube/binding_watch.h"
#include "policy/hot_value.h"

enum { BINDINGS_KEEP_MIN_MS = 600000 }; /* what a later policy may ask about at least */

struct bindings;

/** bindings_new() - empty; counts what bindings_add() is told, until bindings_watch() */
struct bindings *bindings_new(void);
void bindings_free(struct bindings *bindings);
DEFINE_FREEP(struct bindings, bindings_free);

/** bindings_keep() - how far back will be asked; at least BINDINGS_KEEP_MIN_MS */
void bindings_keep(struct bindings *bindings, int64_t keep_ms);
/** bindings_watch() - count the API server's from now on, and those of the recent past; once */
void bindings_watch(struct bindings *bindings, struct loop *loop, struct kube_api *api,
                    struct metrics *metrics);
/** bindings_reflector() - for readiness; NULL before bindings_watch() */
const struct reflector *bindings_reflector(const struct bindings *bindings);
/** bindings_is_counting() - the counts are complete: there is a watch, and it is live */
bool bindings_is_counting(const struct bindings *bindings);

/** bindings_add() - a pod was bound to @node at @at_unix_ms, not after now */
void bindings_add(struct bindings *bindings, const char *node, int64_t at_unix_ms,
                  int64_t now_unix_ms);
/** bindings_forget() - the node is gone: another of its name was given nothing yet */
void bindings_forget(struct bindings *bindings, const char *node);
/** bindings_hot() - the node's hot value */
int64_t bindings_hot(struct bindings *bindings, const struct policy *policy, const char *node,
                     int64_t now_unix_ms);
/** bindings_prune() - forget nodes whose bindings are all too old; call it every minute or so */
void bindings_prune(struct bindings *bindings, int64_t now_unix_ms);
/** bindings_nodes() - nodes that memory is held for */
size_t bindings_nodes(const struct bindings *bindings);
