/*
 * How many pods were recently bound to each node, from a watch on pods: the input of the hot value.
 * Kept by node name, since a pod may be bound to a node that has not been seen yet; nodes without
 * recent bindings take no memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/hot_value.h"
#include "policy/pods/binding_watch.h"

enum { BINDINGS_KEEP_MIN_MS = 600000 }; /* at least, so that a later policy finds some history */

struct bindings;

/** bindings_new() - empty; only bindings_add() adds to it until there is a watch */
struct bindings *bindings_new(void);
void bindings_free(struct bindings *bindings);
DEFINE_FREEP(struct bindings, bindings_free);

/** bindings_follow() - keep bindings for as long as @policy needs them, at least for
 * BINDINGS_KEEP_MIN_MS, and from the first policy with hot values on watch those of the API server,
 * recent ones included. With one that looks further back they are listed and counted anew
 * @api: NULL: nothing is watched, and the other two may be NULL */
void bindings_follow(struct bindings *bindings, const struct policy *policy, struct loop *loop,
                     struct kube_api *api, struct metrics *metrics);
/** bindings_reflector() - for readiness; NULL before there is a watch */
const struct reflector *bindings_reflector(const struct bindings *bindings);
/** bindings_is_counting() - the counts are complete: there is a watch, and it is live */
bool bindings_is_counting(const struct bindings *bindings);

/** bindings_add() - a pod was bound to @node at @at_unix_ms, not after now */
void bindings_add(struct bindings *bindings, const char *node, int64_t at_unix_ms,
                  int64_t now_unix_ms);
/** bindings_forget() - the node was deleted; a new one of the same name starts from zero */
void bindings_forget(struct bindings *bindings, const char *node);
/** bindings_hot() - the node's hot value */
int64_t bindings_hot(struct bindings *bindings, const struct policy *policy, const char *node,
                     int64_t now_unix_ms);
/** bindings_prune() - free nodes whose bindings are all too old; call it every minute or so */
void bindings_prune(struct bindings *bindings, int64_t now_unix_ms);
/** bindings_nodes() - number of nodes that memory is held for */
size_t bindings_nodes(const struct bindings *bindings);
