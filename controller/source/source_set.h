/*
 * The sources that run. Each has an index, under which it reports: its place in the source_list.
 * Which one serves a node, and which ones are asked, is decided per node (track/node_track.h).
 */
#pragma once

#include "base/attributes.h"
#include "controller/source/source_list.h"

struct source_set;

/** source_set_new() - @list is borrowed; @sink is copied, its source set for each */
struct source_set *source_set_new(const struct source_parts *parts, const struct source_list *list,
                                  const struct source_sink *sink);
/** source_set_stop() - end all sources; what the set is then given is in vain. Not to be called
 * from a sink */
void source_set_stop(struct source_set *set);
void source_set_free(struct source_set *set);

/* To each of them, see struct source_kind. */
void source_set_policy(struct source_set *set, const struct policy *policy);
void source_set_add_node(struct source_set *set, struct node *node);
void source_set_remove_node(struct source_set *set, struct node *node);
