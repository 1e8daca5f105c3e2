/*
 * The times of a node's recent bindings, oldest dropped first. Bounded: of more than
 * BINDING_RING_MAX the newest are kept, so a count is at most that.
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
 * @at_unix_ms: at most the caller's clock: a later time, from a peer whose clock is ahead, would
 *              count until then
 * @keep_ms:    the longest range that will be counted (hot_value_keep_ms()); bindings that are
 *              older than the newest by as much are dropped
 */
void binding_ring_add(struct binding_ring *ring, int64_t at_unix_ms, int64_t keep_ms);

/**
 * binding_ring_settle() - move bindings later than @now_unix_ms to it
 *
 * For a clock that was set back: such bindings would count until the clock has caught up, and
 * binding_ring_add() would drop new ones as older.
 */
void binding_ring_settle(struct binding_ring *ring, int64_t now_unix_ms);

/** binding_ring_count() - bindings after now - range, those later than now included */
size_t binding_ring_count(const struct binding_ring *ring, int64_t now_unix_ms, int64_t range_ms);

/** binding_ring_newest() - time of the @n-th newest binding; @n from 1 to the number of bindings */
int64_t binding_ring_newest(const struct binding_ring *ring, size_t n);
