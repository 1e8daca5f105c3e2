/*
 * Resources of the policy's own (spec.metrics) in an exposition: the series that match, and what
 * becomes of them. Part of node_reading.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/exposition.h"
#include "controller/exposition/series_list.h"
#include "policy/policy.h"

/* One resource in one exposition. Zero-initialised is empty. */
struct node_resource_tally {
        struct series_list used, capacity;
};

/** node_resource_take() - note one sample of `series` or `capacitySeries`, if it matches; false
 * when the sample is not usable */
bool node_resource_take(struct series_list *series, const struct policy_resource *resource,
                        const struct exposition_sample *sample);

/** node_resource_reduce() - the values, at least one, as the resource wants it */
double node_resource_reduce(enum policy_reduce reduce, const struct series_list *series);

/**
 * node_resource_capacity() - what counts as full, by the policy or by the exposition
 * @ret: > 0
 * Return: NULL, or why nothing can be said (constant text)
 */
const char *node_resource_capacity(const struct node_resource_tally *tally,
                                   const struct policy_resource *resource, double *ret);

/**
 * node_resource_ratio() - @used of @capacity, at most 1
 *
 * What is a thousand times full is no measurement but an exporter's way to write "nothing" (DCGM:
 * 9223372036854775794 for a field that the GPU does not have): taken for full, it would empty
 * the node.
 * Return: false when it is that
 */
_must_check_ bool node_resource_ratio(double used, double capacity, double *ret_ratio);
