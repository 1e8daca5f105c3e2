/*
 * The series of one family in an exposition. A series has the same id in other families and in the
 * previous exposition. Ids are hashes of labels (hash_fnv1a()): an exporter that makes collisions
 * spoils only the values of its own node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { NODE_MAX_DEVICES = 1024 }; /* in one family of one node */

/* Bytes since a machine's start. Above this, a double cannot show the difference of an interval,
 * and a nonsensical counter looks like one that stands still. */
#define NODE_COUNTER_MAX 1e18

/* The value of a device or of another series. */
struct node_device {
        uint64_t id;
        double value;
};

/* Zero-initialised is empty. The owner frees items, and may set count to 0 to reuse them. */
struct series_list {
        size_t count, cap;
        struct node_device *items; /* by ascending id */
};

/**
 * series_list_add() - add a series; only the first of a repeated series counts
 * @is_usable: is @value valid?
 * Return: false if it is not, or if there are more than NODE_MAX_DEVICES series
 */
bool series_list_add(struct series_list *series, uint64_t id, double value, bool is_usable);
/** series_list_find() - the value with @id; NULL: none. Valid until the next addition */
const double *series_list_find(const struct series_list *series, uint64_t id);

/**
 * series_used_ratio() - the used share of @total > 0 bytes if @unused bytes are free
 *
 * Because of estimates and races, @unused can be a little above @total: then nothing is used. More
 * than twice the total is nonsense, and would make the node look empty and attract every pod.
 * Return: false for such a value
 */
static inline bool series_used_ratio(double unused, double total, double *ret_ratio) {
        if (unused / total > 2)
                return false;
        *ret_ratio = unused < total ? 1 - unused / total : 0;
        return true;
}

/** series_value_is_within() - is it in [0, @max]? Infinities and NaN are not */
static inline bool series_value_is_within(double value, double max) {
        return value >= 0 && value <= max;
}
