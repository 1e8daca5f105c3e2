#include "controller/window.h"
#include "controller/window_ring.h"

/* Whether @other is a better source than @best for windows of @window_ms: the shortest of those
 * that are long enough, else the longest. */
static bool is_closer(const struct window_ring *other, const struct window_ring *best,
                      int64_t window_ms) {
        bool is_long = other->window_ms >= window_ms, was_long = best->window_ms >= window_ms;

        if (is_long != was_long)
                return is_long;
        return is_long ? other->window_ms < best->window_ms : other->window_ms > best->window_ms;
}

/* The old number of a new channel that the old ring has, or -1. */
static int old_channel(const struct window_renumbering *renumbering, unsigned channel,
                       const struct window_ring *from_ring) {
        int old = renumbering ? renumbering->was[channel] : (int)channel;

        return old >= 0 && from_ring->channels >> old & 1 ? old : -1;
}

/* The ring to fill @ring from, NULL when there is none. */
static const struct window_ring *closest_ring(const struct window_plan *plan,
                                              const struct window_ring *ring,
                                              const struct window_renumbering *renumbering) {
        const struct window_ring *best = NULL;

        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *other = &plan->rings[i];
                bool is_candidate = false;
                FOREACH_CHANNEL (channel, ring->channels)
                        is_candidate |= old_channel(renumbering, channel, other) >= 0;
                if (is_candidate && other->kind == ring->kind &&
                    (!best || is_closer(other, best, ring->window_ms)))
                        best = other;
        }
        return best;
}

static void replay_cells(struct window_store *to, const struct window_ring *to_ring,
                         const struct window_store *from, const struct window_ring *from_ring,
                         const struct window_renumbering *renumbering) {
        const struct window_ring_state *state = window_ring_const_state(from, from_ring);

        for (uint32_t age = state->count; age-- > 0;) {
                size_t index = window_ring_index(from_ring, state->head - age);
                struct window_cell by_channel[WINDOW_MAX_CHANNELS] = {{0}};
                FOREACH_CHANNEL (channel, to_ring->channels) {
                        int old = old_channel(renumbering, channel, from_ring);
                        if (old >= 0)
                                by_channel[channel] = window_ring_cells(from, from_ring,
                                                                        (unsigned)old)[index];
                }
                window_ring_add(to, to_ring,
                                (struct window_span){window_ring_spans(from, from_ring)[index],
                                                     by_channel});
        }
}

static void replay_buckets(struct window_store *to, const struct window_ring *to_ring,
                           const struct window_store *from, const struct window_ring *from_ring,
                           unsigned channel, unsigned old) {
        const struct window_ring_state *state = window_ring_const_state(from, from_ring);
        const float *buckets = window_ring_buckets(from, from_ring, old);

        if (state->count == 0)
                return;
        for (int64_t number = state->head - from_ring->capacity + 1; number <= state->head;
             number++) {
                float value = buckets[window_ring_index(from_ring, number)];
                if (value < 0)
                        continue;
                /* As late as it can be: no peak is forgotten early. */
                window_ring_put(to, to_ring, channel,
                                window_ring_latest_ms(from, from_ring, number), value);
        }
}

struct window_store *window_store_replan(struct window_store *store, const struct window_plan *plan,
                                         const struct window_renumbering *renumbering) {
        struct window_store *to = window_store_new(plan);

        to->last_mono_ms = store->last_mono_ms;
        to->step_count = store->step_count;
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                const struct window_ring *from = closest_ring(store->plan, ring, renumbering);
                if (!from)
                        continue;
                if (ring->kind == WINDOW_CELLS)
                        replay_cells(to, ring, store, from, renumbering);
                FOREACH_CHANNEL (channel, ring->channels) {
                        int old = old_channel(renumbering, channel, from);
                        if (old < 0)
                                continue;
                        to->counted |= (store->counted >> old & 1) << channel;
                        if (ring->kind != WINDOW_CELLS)
                                replay_buckets(to, ring, store, from, channel, (unsigned)old);
                }
        }
        window_store_free(store);
        return to;
}
