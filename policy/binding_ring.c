#include "policy/binding_ring.h"

#include "base/mem.h"

enum { RING_FIRST_CAP = 16 };

/* @span_ms: not negative */
static int64_t time_before(int64_t at_unix_ms, int64_t span_ms) {
        int64_t before_unix_ms = 0;

        if (__builtin_sub_overflow(at_unix_ms, span_ms, &before_unix_ms))
                return INT64_MIN;
        return before_unix_ms;
}

static int64_t *ring_at(const struct binding_ring *ring, uint32_t index) {
        return &ring->at_unix_ms[(ring->first + index) & (ring->cap - 1)];
}

/* The number of bindings at or before @at_unix_ms, which is the index of the first one after. */
static uint32_t ring_upper_bound(const struct binding_ring *ring, int64_t at_unix_ms) {
        uint32_t low = 0, high = ring->len;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (*ring_at(ring, middle) <= at_unix_ms)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void ring_drop_oldest(struct binding_ring *ring, uint32_t count) {
        ring->first = (ring->first + count) & (ring->cap - 1);
        ring->len -= count;
}

static void ring_grow(struct binding_ring *ring) {
        uint32_t cap = ring->cap ? ring->cap * 2 : RING_FIRST_CAP;
        int64_t *at_unix_ms = xreallocarray(NULL, cap, sizeof(*at_unix_ms));

        for (uint32_t i = 0; i < ring->len; i++)
                at_unix_ms[i] = *ring_at(ring, i);
        free(ring->at_unix_ms);
        *ring = (struct binding_ring){.at_unix_ms = at_unix_ms, .len = ring->len, .cap = cap};
}

void binding_ring_done(struct binding_ring *ring) {
        free(ring->at_unix_ms);
        *ring = (struct binding_ring){0};
}

void binding_ring_add(struct binding_ring *ring, int64_t at_unix_ms, int64_t keep_ms) {
        int64_t newest_ms = at_unix_ms;

        if (ring->len > 0 && *ring_at(ring, ring->len - 1) > newest_ms)
                newest_ms = *ring_at(ring, ring->len - 1);
        int64_t dropped_ms = time_before(newest_ms, keep_ms);
        ring_drop_oldest(ring, ring_upper_bound(ring, dropped_ms));
        if (at_unix_ms <= dropped_ms)
                return;

        if (ring->len == BINDING_RING_MAX) {
                if (at_unix_ms <= *ring_at(ring, 0))
                        return;
                ring_drop_oldest(ring, 1);
        } else if (ring->len == ring->cap) {
                ring_grow(ring);
        }

        /* Nearly always the newest: then no other binding moves. */
        uint32_t index = ring_upper_bound(ring, at_unix_ms);
        ring->len++;
        for (uint32_t i = ring->len - 1; i > index; i--)
                *ring_at(ring, i) = *ring_at(ring, i - 1);
        *ring_at(ring, index) = at_unix_ms;
}

void binding_ring_settle(struct binding_ring *ring, int64_t now_unix_ms) {
        for (uint32_t i = ring->len; i > 0 && *ring_at(ring, i - 1) > now_unix_ms; i--)
                *ring_at(ring, i - 1) = now_unix_ms;
}

size_t binding_ring_count(const struct binding_ring *ring, int64_t now_unix_ms, int64_t range_ms) {
        return ring->len - ring_upper_bound(ring, time_before(now_unix_ms, range_ms));
}

int64_t binding_ring_newest(const struct binding_ring *ring, size_t n) {
        return *ring_at(ring, ring->len - (uint32_t)n);
}
