#include <string.h>

#include "controller/window/window.h"
#include "controller/window/window_ring.h"

static void copy_channel(struct window_store *to, const struct window_ring *to_ring,
                         unsigned to_channel, const struct window_store *from,
                         const struct window_ring *from_ring, unsigned from_channel) {
        if (to_ring->kind == WINDOW_CELLS)
                memcpy(window_ring_cells(to, to_ring, to_channel),
                       window_ring_cells(from, from_ring, from_channel),
                       to_ring->capacity * sizeof(struct window_cell));
        else
                memcpy(window_ring_buckets(to, to_ring, to_channel),
                       window_ring_buckets(from, from_ring, from_channel),
                       to_ring->capacity * sizeof(float));
}

/* All channels of a ring share its position; a new channel has had no data so far. */
static void copy_ring(struct window_store *to, const struct window_ring *to_ring,
                      const struct window_store *from, const struct window_ring *from_ring,
                      const struct window_renumbering *renumbering) {
        *window_ring_state(to, to_ring) = *window_ring_state(from, from_ring);
        if (to_ring->kind == WINDOW_CELLS)
                memcpy(window_ring_spans(to, to_ring), window_ring_spans(from, from_ring),
                       to_ring->capacity * sizeof(uint32_t));
        FOREACH_CHANNEL (channel, to_ring->channels) {
                int old = renumbering->was[channel];
                if (old < 0 || !(from_ring->channels >> old & 1))
                        continue;
                to->counted |= (from->counted >> old & 1) << channel;
                copy_channel(to, to_ring, channel, from, from_ring, (unsigned)old);
        }
}

struct window_store *window_store_replan(struct window_store *store, const struct window_plan *plan,
                                         const struct window_renumbering *renumbering) {
        struct window_store *to = window_store_new(plan);

        to->last_mono_ms = store->last_mono_ms;
        to->step_count = store->step_count;
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                size_t old = window_plan_ring(store->plan, ring->kind, ring->window_ms);
                if (old < store->plan->ring_count)
                        copy_ring(to, ring, store, &store->plan->rings[old], renumbering);
        }
        window_store_free(store);
        return to;
}
