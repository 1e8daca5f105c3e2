#include "controller/window/window_plan.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"

/* A cell of a year's window spans 30 hours; its 32 bits of milliseconds are enough for 49 days. */
static const int64_t WINDOW_LONGEST_MS = 366 * MS_PER_DAY;

/* With the usual scrapes every 15 s, each has its own cell in windows of up to 5 minutes. */
static const int64_t SCRAPE_CELL_MS = 12 * MS_PER_S;

int64_t window_resolution_ms(int64_t window_ms) {
        int64_t least_ms = window_min_ms(window_ms / 25, SCRAPE_CELL_MS);
        int64_t resolution_ms = window_ms / 60;

        if (window_ms > MS_PER_HOUR) {
                least_ms = MS_PER_MIN;
                resolution_ms = window_ms / 288;
        }
        return window_max_ms(window_max_ms(resolution_ms, least_ms), 1);
}

int64_t window_length_ms(const struct metric_query *query) {
        return window_min_ms(query->window_ms, WINDOW_LONGEST_MS);
}

static enum window_ring_kind ring_kind(enum metric_statistic statistic) {
        return statistic == METRIC_AVG   ? WINDOW_CELLS
               : statistic == METRIC_MAX ? WINDOW_PEAKS
                                         : WINDOW_MEANS;
}

size_t window_plan_ring(const struct window_plan *plan, enum window_ring_kind kind,
                        int64_t window_ms) {
        size_t i = 0;

        while (i < plan->ring_count &&
               (plan->rings[i].kind != kind || plan->rings[i].window_ms != window_ms))
                i++;
        return i;
}

const struct window_ring *window_plan_find(const struct window_plan *plan,
                                           const struct metric_query *query) {
        size_t i = window_plan_ring(plan, ring_kind(query->statistic), window_length_ms(query));

        return i < plan->ring_count && plan->rings[i].channels >> query->resource & 1
                       ? &plan->rings[i]
                       : NULL;
}

/* Adds @channel to the ring of this kind and window; the layout follows at the end. */
static void want_ring(struct window_plan *plan, enum window_ring_kind kind, int64_t window_ms,
                      unsigned channel) {
        size_t index = window_plan_ring(plan, kind, window_ms);
        struct window_ring *ring = &plan->rings[index];

        if (index == plan->ring_count) {
                int64_t resolution_ms = window_resolution_ms(window_ms);
                plan->ring_count++;
                *ring = (struct window_ring){
                        .kind = kind,
                        .window_ms = window_ms,
                        .resolution_ms = resolution_ms,
                        /* One more than fits, for the one across the window's old edge. */
                        .capacity = (uint32_t)((window_ms + resolution_ms - 1) / resolution_ms + 1),
                };
        }
        assert(ring->capacity <= WINDOW_MAX_CAPACITY);
        ring->channels |= UINT32_C(1) << channel;
}

static size_t ring_bytes(const struct window_ring *ring) {
        size_t channels = (size_t)__builtin_popcount(ring->channels);

        if (ring->kind == WINDOW_CELLS)
                return ring->capacity * (sizeof(uint32_t) + channels * sizeof(struct window_cell));
        return ring->capacity * channels * sizeof(float);
}

struct window_plan *window_plan_new(const struct metric_query *queries, size_t query_count,
                                    int64_t scrape_interval_ms) {
        /* At most one ring per query, and the 5-minute cells. */
        struct window_plan *plan = xcalloc(1, sizeof(*plan) +
                                                      (query_count + 1) * sizeof(plan->rings[0]));

        assert(scrape_interval_ms > 0);
        plan->gauge_gap_ms = window_max_ms(4 * scrape_interval_ms, MS_PER_MIN);
        plan->counter_gap_ms = window_max_ms(plan->gauge_gap_ms, WINDOW_MEAN_MS);

        for (size_t i = 0; i < query_count; i++) {
                unsigned channel = (unsigned)queries[i].resource;
                enum window_ring_kind kind = ring_kind(queries[i].statistic);
                assert(channel < WINDOW_MAX_CHANNELS && queries[i].window_ms > 0);
                plan->channels |= UINT32_C(1) << channel;
                want_ring(plan, kind, window_length_ms(&queries[i]), channel);
                if (kind != WINDOW_CELLS)
                        want_ring(plan, WINDOW_CELLS, WINDOW_MEAN_MS, channel);
        }

        size_t offset = sizeof(struct window_store) +
                        plan->ring_count * sizeof(struct window_ring_state);
        plan->means = window_plan_ring(plan, WINDOW_CELLS, WINDOW_MEAN_MS);
        for (size_t i = 0; i < plan->ring_count; i++) {
                plan->rings[i].offset = offset;
                offset += ring_bytes(&plan->rings[i]);
        }
        plan->store_bytes = offset;
        return plan;
}

void window_plan_free(struct window_plan *plan) {
        free(plan);
}
