/*
 * The rings of a window store: sums over spans of time, and means by fixed stretches of it. Private
 * to window.c, window_history.c and window_replan.c; window_plan.h has their layout in memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/window/window_plan.h"

/* Iterates over the set bits of a mask of channels. */
#define FOREACH_CHANNEL(channel, mask)                                                             \
        for (uint32_t rest_ = (mask), channel = 0;                                                 \
             rest_ && (channel = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)

/* A store's memory, of which these are parts, may be written through a const store. */

static inline struct window_ring_state *window_ring_state(const struct window_store *store,
                                                          const struct window_ring *ring) {
        struct window_store *self = (void *)store->memory;
        return &self->rings[ring - store->plan->rings];
}

/* Cells: sums over adjoining spans of time, of which the newest ends with the last step. */

static inline uint32_t *window_ring_spans(const struct window_store *store,
                                          const struct window_ring *ring) {
        return (void *)(store->memory + ring->offset);
}

static inline struct window_cell *window_ring_cells(const struct window_store *store,
                                                    const struct window_ring *ring,
                                                    unsigned channel) {
        struct window_cell *first = (void *)(window_ring_spans(store, ring) + ring->capacity);
        return first + window_ring_place(ring, channel) * ring->capacity;
}

/* What the channels had in one span of time: the input of cell rings. */
struct window_span {
        int64_t ms;
        const struct window_cell *by_channel;
};

/** window_ring_add() - the next span */
void window_ring_add(struct window_store *store, const struct window_ring *ring,
                     struct window_span span);

struct window_sums {
        double num;
        double den;
        double covered_ms; /* of the time, with data */
};

/** window_ring_between() - over a stretch of time; a cell across its edge counts by its share */
struct window_sums window_ring_between(const struct window_store *store,
                                       const struct window_ring *ring, unsigned channel,
                                       int64_t begin_mono_ms, int64_t end_mono_ms);
/** window_ring_sum() - over the window that ends with the last step */
struct window_sums window_ring_sum(const struct window_store *store, const struct window_ring *ring,
                                   unsigned channel);

/* Buckets: one number per fixed stretch of time, negative where there is none. */

static const float WINDOW_EMPTY = -1;

static inline float *window_ring_buckets(const struct window_store *store,
                                         const struct window_ring *ring, unsigned channel) {
        float *first = (void *)(store->memory + ring->offset);
        return first + window_ring_place(ring, channel) * ring->capacity;
}

/** window_ring_index() - where bucket or cell @number lies, which may be negative */
size_t window_ring_index(const struct window_ring *ring, int64_t number);
/** window_ring_put() - a mean of the moment @mono_ms: the larger counts, of quantiles the later */
void window_ring_put(struct window_store *store, const struct window_ring *ring, unsigned channel,
                     int64_t mono_ms, float value);
/** window_ring_latest_ms() - the latest moment that what is in bucket @number can be of */
int64_t window_ring_latest_ms(const struct window_store *store, const struct window_ring *ring,
                              int64_t number);
/**
 * window_ring_collect() - the filled buckets of the window, in any order
 * @ret_values: room for the ring's capacity
 * Return: their number
 */
size_t window_ring_collect(const struct window_store *store, const struct window_ring *ring,
                           unsigned channel, int64_t now_mono_ms, float *ret_values);

struct window_peak {
        float ratio;        /* WINDOW_EMPTY when there is none */
        int64_t at_mono_ms; /* when it was, at the latest; of no meaning when there is none */
        size_t buckets;     /* number of filled ones */
};

/** window_ring_peak() - the largest of the buckets that lie in a stretch of time, at least in part;
 * of equal ones the latest */
struct window_peak window_ring_peak(const struct window_store *store,
                                    const struct window_ring *ring, unsigned channel,
                                    int64_t begin_mono_ms, int64_t end_mono_ms);
