/*
 * The rings of a window store: cells are sums over spans of time, buckets are means of fixed spans.
 * Private to window*.c; window_plan.h has the layout in memory.
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

/* These point into the store's memory, which may be written through a const store. */

static inline struct window_ring_state *window_ring_state(const struct window_store *store,
                                                          const struct window_ring *ring) {
        struct window_store *self = (void *)store->memory;
        return &self->rings[ring - store->plan->rings];
}

/* Cells: sums over adjoining spans of time; the newest ends with the last step. */

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

/* The input of cell rings: the sums of all channels in one span of time. */
struct window_span {
        int64_t ms;
        const struct window_cell *by_channel;
};

/** window_ring_add() - append the next span */
void window_ring_add(struct window_store *store, const struct window_ring *ring,
                     struct window_span span);

struct window_sums {
        double num;
        double den;
        double covered_ms; /* time with data */
};

/** window_ring_between() - the sums from begin to end; a cell across an edge counts by its share */
struct window_sums window_ring_between(const struct window_store *store,
                                       const struct window_ring *ring, unsigned channel,
                                       int64_t begin_mono_ms, int64_t end_mono_ms);
/** window_ring_sum() - the sums over the window that ends with the last step */
struct window_sums window_ring_sum(const struct window_store *store, const struct window_ring *ring,
                                   unsigned channel);

/* Buckets: one number per fixed span of time; negative if there is none. */

static const float WINDOW_EMPTY = -1;

static inline float *window_ring_buckets(const struct window_store *store,
                                         const struct window_ring *ring, unsigned channel) {
        float *first = (void *)(store->memory + ring->offset);
        return first + window_ring_place(ring, channel) * ring->capacity;
}

/** window_ring_index() - the index of bucket or cell @number, which may be negative */
size_t window_ring_index(const struct window_ring *ring, int64_t number);
/** window_ring_put() - store a mean of the time @mono_ms: a bucket keeps the largest; with
 * quantiles the last */
void window_ring_put(struct window_store *store, const struct window_ring *ring, unsigned channel,
                     int64_t mono_ms, float value);
/** window_ring_latest_ms() - the latest time that the value in bucket @number can have */
int64_t window_ring_latest_ms(const struct window_store *store, const struct window_ring *ring,
                              int64_t number);
struct window_peak {
        float ratio;        /* WINDOW_EMPTY: there is none */
        int64_t at_mono_ms; /* the latest time that it can have; undefined without a peak */
        size_t buckets;     /* how many are filled */
};

/** window_ring_peak() - the largest of the buckets that overlap the time from begin to end; of
 * equal ones the latest
 * @ret_values: those that are filled, in any order; has room for the ring's capacity; may be NULL
 */
struct window_peak window_ring_peak(const struct window_store *store,
                                    const struct window_ring *ring, unsigned channel,
                                    int64_t begin_mono_ms, int64_t end_mono_ms, float *ret_values);
