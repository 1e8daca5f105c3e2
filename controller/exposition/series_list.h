/*
 * The series of one family in an exposition. Each has an id, by which it is found in other families
 * and in the exposition before. Ids are hashes of labels (hash_fnv1a()): a peer that finds
 * collisions only blurs its own node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { NODE_MAX_DEVICES = 1024 }; /* in one family of one node */

/* Bytes since a machine's start; beyond, a double does not see an interval's difference any more,
 * and a counter that is nonsense looks like one that stands still. */
#define NODE_COUNTER_MAX 1e18

/* One device's value, one series' value. */
struct node_device {
        uint64_t id;
        double value;
};

/* Zero-initialised is empty. The owner frees items, and may set count to 0 to use them again. */
struct series_list {
        size_t count, cap;
        struct node_device *items; /* by ascending id */
};

/**
 * series_list_add() - note a series; of a repeated one the first counts
 * @is_usable: whether @value is one
 * Return: false when it is none, or when there are more than NODE_MAX_DEVICES series
 */
bool series_list_add(struct series_list *series, uint64_t id, double value, bool is_usable);
/** series_list_find() - the value with @id; NULL: there is none. Good until the next addition */
const double *series_list_find(const struct series_list *series, uint64_t id);

/**
 * series_used_ratio() - what is used of @total > 0 bytes when @unused are free
 *
 * Estimates and races make a little more free than there is: then nothing is used. More than twice
 * the total is nonsense, which taken for an empty node would draw every pod.
 * Return: false when it is that
 */
static inline bool series_used_ratio(double unused, double total, double *ret_ratio) {
        if (unused / total > 2)
                return false;
        *ret_ratio = unused < total ? 1 - unused / total : 0;
        return true;
}

/** series_value_is_within() - in [0, @max], which excludes what is not finite */
static inline bool series_value_is_within(double value, double max) {
        return value >= 0 && value <= max;
}
