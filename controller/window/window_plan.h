/*
 * How a window store is laid out: private to window*.c.
 *
 * A store is one allocation: the struct, then a window_ring_state per ring, then the rings' own
 * memory. Rings hold floats:
 *
 *     cells   spans of time, newest at `head`:  uint32_t span_ms[capacity],
 *             then per channel                  struct window_cell [capacity]
 *     peaks   buckets of fixed times, bucket number n at n mod capacity:
 *     means   per channel                       float [capacity], negative where empty
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/window/window.h"

/* 288 of window_resolution_ms() make up a window; rounding and the one across the old edge add two
 */
enum { WINDOW_MAX_CAPACITY = 290 };

enum window_ring_kind {
        WINDOW_CELLS, /* avg: sums over adjoining spans */
        WINDOW_PEAKS, /* max: the largest 5-minute mean per bucket */
        WINDOW_MEANS, /* quantiles: the last 5-minute mean per bucket */
};

struct window_cell {
        float num;
        float den;
        float covered_ms; /* of its span, with data of the channel */
};

struct window_ring {
        enum window_ring_kind kind;
        int64_t window_ms;
        int64_t resolution_ms;
        uint32_t channels; /* a bit each; a channel's place is the number of bits below its own */
        uint32_t capacity; /* cells or buckets */
        size_t offset;     /* bytes from the store's start */
};

struct window_plan {
        uint32_t channels;      /* any */
        int64_t gauge_gap_ms;   /* longer intervals of a gauge have no data */
        int64_t counter_gap_ms; /* nor of a counter */
        size_t store_bytes;
        size_t means;      /* index of the 5-minute cells that peaks and means are fed from; */
        size_t ring_count; /* ring_count when there are none */
        struct window_ring rings[];
};

/* The smaller and the larger of two times, or durations. */
static inline int64_t window_min_ms(int64_t a, int64_t b) {
        return a < b ? a : b;
}

static inline int64_t window_max_ms(int64_t a, int64_t b) {
        return a > b ? a : b;
}

/** window_ring_place() - of a channel that the ring has */
static inline size_t window_ring_place(const struct window_ring *ring, unsigned channel) {
        return (size_t)__builtin_popcount(ring->channels & ((UINT32_C(1) << channel) - 1));
}

/** window_length_ms() - a query's window, cut to the longest that is kept */
int64_t window_length_ms(const struct metric_query *query);

/** window_plan_find() - the ring that answers @query, or NULL */
const struct window_ring *window_plan_find(const struct window_plan *plan,
                                           const struct metric_query *query);

/* One ring's place in time, in each store. */
struct window_ring_state {
        int64_t head;   /* cells: index of the newest; buckets: number of the newest */
        uint32_t count; /* cells in use; buckets: 1 once there is a head */
};

struct window_store {
        const struct window_plan *plan;
        char *memory; /* the store itself, as bytes for the rings' offsets */
        int64_t last_mono_ms;
        uint32_t step_count; /* saturates at 2: none, one, more */
        uint32_t counted;    /* channels that have had an interval */
        struct window_ring_state rings[];
};
