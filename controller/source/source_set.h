/*
 * The sources that run. Each reports with its index in the source_list. track/node_track.h decides
 * which one serves a node, and which ones are asked.
 */
#pragma once

#include "base/attributes.h"
#include "controller/source/source_list.h"

struct source_set;

/** source_set_new() - @list is borrowed; @parts: everything but the
 * spec and the index */
struct source_set *source_set_new(const struct source *parts, const struct source_list *list);
/** source_set_stop() - end all sources; later calls have no effect. Not to be called from a sink */
void source_set_stop(struct source_set *set);
void source_set_free(struct source_set *set);

/* Calls every source; see struct source_kind. */
void source_set_policy(struct source_set *set, const struct policy *policy);
void source_set_add_node(struct source_set *set, struct node *node);
void source_set_remove_node(struct source_set *set, struct node *node);
