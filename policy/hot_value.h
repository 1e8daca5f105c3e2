/*
 * The hot value: how many pods a node was given lately.
 *
 *     hot(node) = sum over p in hotValue of floor(bindings(node, last p.timeRange) / p.count)
 *
 * Bindings of a node are kept as a ring of times, oldest first out; bounded, so a flood of
 * bindings costs nothing but saturation (the count of the newest HOT_VALUE_MAX_BINDINGS).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

enum { HOT_VALUE_MAX_BINDINGS = 4096 };

/* The bindings of one node; starts as all zero, released with binding_ring_done(). */
struct binding_ring {
        int64_t *at_unix_ms; /* ascending, circular */
        uint32_t first, len;
        uint32_t cap; /* 0 or a power of two */
};

void binding_ring_done(struct binding_ring *ring);

/**
 * binding_ring_add() - count one binding
 * @at_unix_ms: at most the caller's clock (a peer's clock may run ahead: clamp, or the node stays
 *              hot until then); may be out of order by a little, it is inserted in its place
 * @keep_ms:    how far back anything will be asked: hot_value_keep_ms(). Those that lie further
 *              behind the newest are dropped on the way
 */
void binding_ring_add(struct binding_ring *ring, int64_t at_unix_ms, int64_t keep_ms);

/**
 * binding_ring_settle() - after the clock may have been set back
 *
 * What is ahead of it happened before now: it counts as of now from here on, where it would
 * otherwise stay until the clock has made up for the step, and have later ones dropped as old.
 */
void binding_ring_settle(struct binding_ring *ring, int64_t now_unix_ms);

/** binding_ring_count() - bindings in (now - range, now]; ones ahead of the clock count as now */
size_t binding_ring_count(const struct binding_ring *ring, int64_t now_unix_ms, int64_t range_ms);

/** hot_value() - the formula above; 0 for a policy without hotValue */
int64_t hot_value(const struct policy *policy, const struct binding_ring *ring,
                  int64_t now_unix_ms);

/**
 * hot_value_next_change_unix_ms() - when the value would fall next without a new binding, so that a
 * holder may recompute then; INT64_MAX when it is 0
 */
int64_t hot_value_next_change_unix_ms(const struct policy *policy, const struct binding_ring *ring,
                                      int64_t now_unix_ms);

/** hot_value_keep_ms() - the longest timeRange of @policy, 0 without hotValue */
int64_t hot_value_keep_ms(const struct policy *policy);
