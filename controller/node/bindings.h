/*
 * How many pods have recently been bound to each node, from a watch of pods: the input of the hot
 * value. Kept by node name, since a pod may be bound to a node that is not known yet. Nodes without
 * recent bindings take no memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/hot_value.h"
#include "policy/pods/binding_watch.h"

enum { BINDINGS_KEEP_MIN_MS = 600000 }; /* at least, as a history for a later policy */

struct bindings;

/** bindings_new() - empty, without a watch */
struct bindings *bindings_new(void);
void bindings_free(struct bindings *bindings);
DEFINE_FREEP(struct bindings, bindings_free);

/** bindings_follow() - keep bindings for as long as @policy needs them. The first policy with hot
 * values starts a watch; for one that looks further back than before, pods are listed again
 * @api: NULL: nothing is watched; @loop and @metrics may be NULL, too */
void bindings_follow(struct bindings *bindings, const struct policy *policy, struct loop *loop,
                     struct kube_api *api, struct metrics *metrics);
/** bindings_reflector() - for readiness; NULL: there is no watch */
const struct reflector *bindings_reflector(const struct bindings *bindings);
/** bindings_is_counting() - are the counts complete? */
bool bindings_is_counting(const struct bindings *bindings);

/** bindings_add() - a pod has been bound to @node at @at_unix_ms, which is not after now */
void bindings_add(struct bindings *bindings, const char *node, int64_t at_unix_ms,
                  int64_t now_unix_ms);
/** bindings_forget() - the node has been deleted; a new node of this name begins at zero */
void bindings_forget(struct bindings *bindings, const char *node);
/** bindings_hot() - the node's hot value */
int64_t bindings_hot(struct bindings *bindings, const struct policy *policy, const char *node,
                     int64_t now_unix_ms);
/** bindings_prune() - call every minute or so: frees nodes whose bindings are all too old */
void bindings_prune(struct bindings *bindings, int64_t now_unix_ms);
/** bindings_nodes() - the number of nodes that take memory */
size_t bindings_nodes(const struct bindings *bindings);
