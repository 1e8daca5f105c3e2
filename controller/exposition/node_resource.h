/*
 * The resources that the policy declares in spec.metrics: the matching series of an exposition, and
 * their value. Part of node_reading.c.
 */
#pragma once

#include <stdbool.h>

#include "controller/exposition/exposition.h"
#include "controller/exposition/series_list.h"
#include "policy/policy.h"

/* One resource in one exposition. Zero-initialised is empty. */
struct node_resource_tally {
        struct series_list used, capacity;
};

/** node_resource_take() - add one sample of `series` or `capacitySeries` if it matches; false if
 * the sample is not usable */
bool node_resource_take(struct series_list *series, const struct policy_resource *resource,
                        const struct exposition_sample *sample);

/** node_resource_reduce() - reduce the values, at least one, to one value */
double node_resource_reduce(enum policy_reduce reduce, const struct series_list *series);

/**
 * node_resource_capacity() - the capacity, from the policy or from the exposition
 * @ret: > 0
 * Return: NULL, or why there is no value (constant text)
 */
const char *node_resource_capacity(const struct node_resource_tally *tally,
                                   const struct policy_resource *resource, double *ret);

/**
 * node_resource_ratio() - @used / @capacity, at most 1
 *
 * A value of a thousand times the capacity is not a measurement. An exporter uses it for "no
 * value": DCGM writes 9223372036854775794 for a field that the GPU does not have. Read as 100%, it
 * would empty the node. Return: false for such a value
 */
_must_check_ bool node_resource_ratio(double used, double capacity, double *ret_ratio);
