/*
 * What the controller shows of each node: scrapes every 15 s into the real windows, and the real
 * plan, which says when what is written, and writes it.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"
#include "world.h"

struct published;

typedef void published_fn(void *userdata, size_t node);

/** published_new() - @is_ours: false: as crane's controller does it, without a dead band, and at
 * its turns only */
struct published *published_new(const struct world *world, const struct policy *policy,
                                bool is_ours);
void published_free(struct published *published);
/** published_restart() - a new controller takes over the annotations as they are; its windows are
 * empty. @policy may be another one */
void published_restart(struct published *published, const struct policy *policy);
DEFINE_FREEP(struct published, published_free);
/** published_step() - after a second of the world; @on_written for each node that was written */
void published_step(struct published *published, published_fn *on_written, void *userdata);
/** published_bound() - the controller's watch of bindings has shown it: hot values count it */
void published_bound(struct published *published, const struct pod *pod);
/** published_annotations() - a node's, borrowed; NULL: never written */
const json_t *published_annotations(const struct published *published, size_t node);
/** published_patches() - sent until now */
uint64_t published_patches(const struct published *published);
