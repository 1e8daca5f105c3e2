/*
 * How a reflector hands objects to its owner: decoded, by way of an index of those that exist
 * (object_index.h), or as the text that they are, for an owner that keeps such an index itself.
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
        struct object_index held;
        bool is_over_limit;
        size_t text_count; /* objects that exist, by what list and watch have shown */
};

/** delivery_init() - @spec is borrowed until delivery_done() */
void delivery_init(struct delivery *delivery, const struct reflector_spec *spec,
                   struct metrics *metrics);
void delivery_done(struct delivery *delivery);

/** delivery_count() - objects that exist; also shown as a metric */
size_t delivery_count(struct delivery *delivery);

/** delivery_begin_list() - a list of all objects begins */
void delivery_begin_list(struct delivery *delivery);
/** delivery_listed() - an object of the list */
void delivery_listed(struct delivery *delivery, const char *text, size_t len);
/** delivery_end_list() - the list is complete: what it did not hold is gone */
void delivery_end_list(struct delivery *delivery);
/** delivery_watched() - an object was added or, with @is_added false, modified */
void delivery_watched(struct delivery *delivery, bool is_added, const char *text, size_t len);
void delivery_deleted(struct delivery *delivery, const char *text, size_t len);
