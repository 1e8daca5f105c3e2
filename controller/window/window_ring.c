#include "controller/window/window_ring.h"

/* 24 days: a cell's 32-bit span cannot overflow. */
static const int64_t SPAN_LONGEST_MS = INT32_MAX;

/* Floor division: seeds from before the machine's start have negative times. */
static int64_t bucket_number(const struct window_ring *ring, int64_t mono_ms) {
        int64_t number = mono_ms / ring->resolution_ms;
        return mono_ms % ring->resolution_ms < 0 ? number - 1 : number;
}

size_t window_ring_index(const struct window_ring *ring, int64_t number) {
        int64_t index = number % ring->capacity;
        return (size_t)(index < 0 ? index + ring->capacity : index);
}

void window_ring_add(struct window_store *store, const struct window_ring *ring,
                     struct window_span span) {
        struct window_ring_state *state = window_ring_state(store, ring);
        uint32_t *spans = window_ring_spans(store, ring);

        /* No older span can still be in the window. */
        if (span.ms >= ring->window_ms || span.ms > SPAN_LONGEST_MS)
                state->count = 0;
        span.ms = window_min_ms(span.ms, SPAN_LONGEST_MS);
        /* A long span has its own cell, so earlier sums are not spread over it. It is as long as
         * two cells, which makes up for the cell that is closed early. */
        if (state->count == 0 || spans[state->head] >= ring->resolution_ms ||
            span.ms >= 2 * ring->resolution_ms) {
                state->head = (state->head + 1) % ring->capacity;
                if (state->count < ring->capacity)
                        state->count++;
                spans[state->head] = 0;
                FOREACH_CHANNEL (channel, ring->channels)
                        window_ring_cells(store, ring,
                                          channel)[state->head] = (struct window_cell){0};
        }
        spans[state->head] += (uint32_t)span.ms;
        FOREACH_CHANNEL (channel, ring->channels) {
                struct window_cell *cell = &window_ring_cells(store, ring, channel)[state->head];
                cell->num += span.by_channel[channel].num;
                cell->den += span.by_channel[channel].den;
                cell->covered_ms += span.by_channel[channel].covered_ms;
        }
}

struct window_sums window_ring_between(const struct window_store *store,
                                       const struct window_ring *ring, unsigned channel,
                                       int64_t begin_mono_ms, int64_t end_mono_ms) {
        const struct window_ring_state *state = window_ring_state(store, ring);
        const struct window_cell *cells = window_ring_cells(store, ring, channel);
        const uint32_t *spans = window_ring_spans(store, ring);
        int64_t end_ms = store->last_mono_ms;
        size_t index = (size_t)state->head;
        struct window_sums sums = {0};

        for (uint32_t i = 0; i < state->count && end_ms > begin_mono_ms; i++) {
                int64_t begin_ms = end_ms - spans[index];
                int64_t inside_ms = window_min_ms(end_ms, end_mono_ms) -
                                    window_max_ms(begin_ms, begin_mono_ms);
                if (inside_ms > 0) {
                        double share = (double)inside_ms / spans[index];
                        sums.num += share * (double)cells[index].num;
                        sums.den += share * (double)cells[index].den;
                        sums.covered_ms += share * (double)cells[index].covered_ms;
                }
                end_ms = begin_ms;
                index = index == 0 ? ring->capacity - 1 : index - 1;
        }
        return sums;
}

struct window_sums window_ring_sum(const struct window_store *store, const struct window_ring *ring,
                                   unsigned channel) {
        return window_ring_between(store, ring, channel, store->last_mono_ms - ring->window_ms,
                                   store->last_mono_ms);
}

void window_ring_put(struct window_store *store, const struct window_ring *ring, unsigned channel,
                     int64_t mono_ms, float value) {
        struct window_ring_state *state = window_ring_state(store, ring);
        int64_t number = bucket_number(ring, mono_ms);

        if (state->count == 0) {
                state->count = 1;
                state->head = number;
        }
        if (number <= state->head - ring->capacity)
                return;
        /* Buckets without a value are empty. Once around is enough. */
        state->head = window_max_ms(state->head, number - ring->capacity);
        while (state->head < number) {
                size_t index = window_ring_index(ring, ++state->head);
                FOREACH_CHANNEL (any, ring->channels)
                        window_ring_buckets(store, ring, any)[index] = WINDOW_EMPTY;
        }

        float *bucket = &window_ring_buckets(store, ring, channel)[window_ring_index(ring, number)];
        if (ring->kind == WINDOW_MEANS || value > *bucket)
                *bucket = value;
}

int64_t window_ring_latest_ms(const struct window_store *store, const struct window_ring *ring,
                              int64_t number) {
        int64_t begin_ms = number * ring->resolution_ms;
        int64_t end_ms = begin_ms + ring->resolution_ms - 1;

        return store->last_mono_ms >= begin_ms ? window_min_ms(end_ms, store->last_mono_ms)
                                               : end_ms;
}

/* The number of the oldest bucket in the ring since @begin_mono_ms. */
static int64_t oldest_number(const struct window_ring *ring, const struct window_ring_state *state,
                             int64_t begin_mono_ms) {
        return window_max_ms(bucket_number(ring, begin_mono_ms), state->head - ring->capacity + 1);
}

struct window_peak window_ring_peak(const struct window_store *store,
                                    const struct window_ring *ring, unsigned channel,
                                    int64_t begin_mono_ms, int64_t end_mono_ms, float *ret_values) {
        const struct window_ring_state *state = window_ring_state(store, ring);
        const float *buckets = window_ring_buckets(store, ring, channel);
        int64_t newest = window_min_ms(bucket_number(ring, end_mono_ms - 1), state->head);
        struct window_peak peak = {.ratio = WINDOW_EMPTY};
        int64_t at_number = state->head;

        for (int64_t number = oldest_number(ring, state, begin_mono_ms); number <= newest;
             number++) {
                float value = buckets[window_ring_index(ring, number)];
                if (value < 0)
                        continue;
                if (ret_values)
                        ret_values[peak.buckets] = value;
                peak.buckets++;
                if (value < peak.ratio)
                        continue;
                peak.ratio = value;
                at_number = number;
        }
        peak.at_mono_ms = window_ring_latest_ms(store, ring, at_number);
        return peak;
}
