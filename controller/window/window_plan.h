/*
 * The memory layout of a window store: private to window*.c.
 *
 * A store is one allocation: the struct, a window_ring_state per ring, then the memory of each
 * ring:
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

/* A window has up to 288 cells or buckets; rounding, and the one across the old edge, add two. */
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
        uint32_t channels; /* a bit each; a channel's place is the number of set bits below its own
                            */
        uint32_t capacity; /* cells or buckets */
        size_t offset;     /* bytes from the store's start */
};

struct window_plan {
        uint32_t channels;      /* of any ring */
        int64_t gauge_gap_ms;   /* a longer interval of a gauge has no data */
        int64_t counter_gap_ms; /* a longer interval of a counter has no data */
        size_t store_bytes;
        /* The ring of 5-minute cells that fills peaks and means; ring_count if there is none. */
        size_t means;
        size_t ring_count;
        struct window_ring rings[];
};

/* The smaller and the larger of two times, or durations. */
static inline int64_t window_min_ms(int64_t a, int64_t b) {
        return a < b ? a : b;
}

static inline int64_t window_max_ms(int64_t a, int64_t b) {
        return a > b ? a : b;
}

/** window_ring_place() - the place of a channel that the ring has */
static inline size_t window_ring_place(const struct window_ring *ring, unsigned channel) {
        return (size_t)__builtin_popcount(ring->channels & ((UINT32_C(1) << channel) - 1));
}

/** window_length_ms() - a query's window, at most the longest that is kept */
int64_t window_length_ms(const struct metric_query *query);

/** window_plan_ring() - the index of a ring, whatever its channels; ring_count: there is none */
size_t window_plan_ring(const struct window_plan *plan, enum window_ring_kind kind,
                        int64_t window_ms);
/** window_plan_find() - the ring for @query; NULL: there is none */
const struct window_ring *window_plan_find(const struct window_plan *plan,
                                           const struct metric_query *query);

/* The present position of a ring. */
struct window_ring_state {
        int64_t head;   /* cells: index of the newest; buckets: number of the newest */
        uint32_t count; /* cells: how many are in use; buckets: 1 as soon as there is a head */
};

struct window_store {
        const struct window_plan *plan;
        char *memory; /* the store itself, to which offsets are added */
        int64_t last_mono_ms;
        uint32_t step_count; /* 0, 1, or 2 for more */
        uint32_t counted;    /* channels that have had an interval, a bit each */
        struct window_ring_state rings[];
};
