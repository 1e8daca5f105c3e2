/*
 * The times of a node's recent bindings. The ring keeps the newest BINDING_RING_MAX, so no count
 * exceeds that number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BINDING_RING_MAX = 4096 };

/* Zero-initialised; released with binding_ring_done(). */
struct binding_ring {
        int64_t *at_unix_ms; /* ascending, circular */
        uint32_t first, len;
        uint32_t cap; /* 0 or a power of two */
};

void binding_ring_done(struct binding_ring *ring);

/**
 * binding_ring_add() - insert one binding in order of time
 * @at_unix_ms: not later than the caller's clock; a time in the future would count until then
 * @keep_ms:    the longest range that is counted (hot_value_keep_ms()); bindings that are older
 *              than the newest one by this much are dropped
 */
void binding_ring_add(struct binding_ring *ring, int64_t at_unix_ms, int64_t keep_ms);

/**
 * binding_ring_settle() - set the time of bindings later than @now_unix_ms to @now_unix_ms
 *
 * After the clock was set back, such bindings would count until the clock has caught up, and
 * binding_ring_add() would drop new bindings as too old.
 */
void binding_ring_settle(struct binding_ring *ring, int64_t now_unix_ms);

/** binding_ring_count() - the number of bindings later than now - range */
size_t binding_ring_count(const struct binding_ring *ring, int64_t now_unix_ms, int64_t range_ms);

/** binding_ring_newest() - the time of the @n-th newest binding, from 1 to their number */
int64_t binding_ring_newest(const struct binding_ring *ring, size_t n);
