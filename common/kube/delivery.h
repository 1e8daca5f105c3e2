/*
 * Delivers the objects of a reflector to its owner: decoded, with an index of existing objects
 * (object_index.h), or as text, for owners with an index of their own. Private to the reflector.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kube/object_index.h"
#include "kube/reflector.h"
#include "kube/watch_stream.h"

struct delivery {
        const struct reflector_spec *spec;
        struct metrics_series *events[WATCH_EVENT_TYPE_COUNT]; /* counted by the reflector */
        struct metrics_series *ignored, *objects;
        struct object_index index;
        bool is_over_limit;
        bool is_listing;
        size_t text_count; /* existing objects, if they are delivered as text */
};

/** delivery_init() - @spec is borrowed until delivery_done() */
void delivery_init(struct delivery *delivery, const struct reflector_spec *spec,
                   struct metrics *metrics);
void delivery_done(struct delivery *delivery);

/** delivery_count() - the number of existing objects; updates its metric */
size_t delivery_count(struct delivery *delivery);

/** delivery_begin_list() - a list of all objects begins */
void delivery_begin_list(struct delivery *delivery);
/** delivery_end_list() - the list is complete: objects that are not in it no longer exist */
void delivery_end_list(struct delivery *delivery);
/** delivery_put() - deliver an object of the list, or a change that the watch reports */
void delivery_put(struct delivery *delivery, enum reflector_event event, const char *text,
                  size_t len);
