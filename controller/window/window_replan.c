#include "controller/window/window.h"
#include "controller/window/window_ring.h"

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

/* The ring to fill @channels of @ring from: the closest that has any of them, NULL when none has.
 */
static const struct window_ring *closest_ring(const struct window_plan *plan,
                                              const struct window_ring *ring, uint32_t channels,
                                              const struct window_renumbering *renumbering) {
        const struct window_ring *best = NULL;

        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *other = &plan->rings[i];
                bool is_candidate = false;
                FOREACH_CHANNEL (channel, channels)
                        is_candidate |= old_channel(renumbering, channel, other) >= 0;
                if (is_candidate && other->kind == ring->kind &&
                    (!best || is_closer(other, best, ring->window_ms)))
                        best = other;
        }
        return best;
}

/* Where one channel of a new ring comes from. */
struct origin {
        const struct window_ring *ring; /* NULL: nowhere */
        unsigned channel;
};

static struct origin find_origin(const struct window_plan *plan, const struct window_ring *ring,
                                 unsigned channel, const struct window_renumbering *renumbering) {
        const struct window_ring *from = closest_ring(plan, ring, UINT32_C(1) << channel,
                                                      renumbering);
        int old = from ? old_channel(renumbering, channel, from) : -1;

        return old < 0 ? (struct origin){NULL, 0} : (struct origin){from, (unsigned)old};
}

/* What a channel had in one cell of @spans_ring, whichever ring of its own that comes from. */
static struct window_cell origin_cell(const struct window_store *from, struct origin origin,
                                      const struct window_ring *spans_ring, size_t index,
                                      int64_t begin_mono_ms, int64_t end_mono_ms) {
        if (!origin.ring)
                return (struct window_cell){0};
        if (origin.ring == spans_ring)
                return window_ring_cells(from, origin.ring, origin.channel)[index];
        struct window_sums sums = window_ring_between(from, origin.ring, origin.channel,
                                                      begin_mono_ms, end_mono_ms);
        return (struct window_cell){(float)sums.num, (float)sums.den, (float)sums.covered_ms};
}

/* The channels of a ring share its spans: those of the closest ring that any of them has, which
 * reaches back as far as all other rings, or as far as the window. */
static void replay_cells(struct window_store *to, const struct window_ring *to_ring,
                         const struct window_store *from, const struct origin *origins,
                         const struct window_renumbering *renumbering) {
        const struct window_ring *spans_ring = closest_ring(from->plan, to_ring, to_ring->channels,
                                                            renumbering);
        int64_t begin_mono_ms = from->last_mono_ms;

        if (!spans_ring)
                return;
        const struct window_ring_state *state = window_ring_state(from, spans_ring);
        const uint32_t *spans = window_ring_spans(from, spans_ring);
        for (uint32_t age = 0; age < state->count; age++)
                begin_mono_ms -= spans[window_ring_index(spans_ring, state->head - age)];
        for (uint32_t age = state->count; age-- > 0;) {
                size_t index = window_ring_index(spans_ring, state->head - age);
                int64_t end_mono_ms = begin_mono_ms + spans[index];
                struct window_cell by_channel[WINDOW_MAX_CHANNELS];
                FOREACH_CHANNEL (channel, to_ring->channels)
                        by_channel[channel] = origin_cell(from, origins[channel], spans_ring, index,
                                                          begin_mono_ms, end_mono_ms);
                window_ring_add(to, to_ring, (struct window_span){spans[index], by_channel});
                begin_mono_ms = end_mono_ms;
        }
}

static void replay_buckets(struct window_store *to, const struct window_ring *to_ring,
                           unsigned channel, const struct window_store *from,
                           struct origin origin) {
        const struct window_ring_state *state = window_ring_state(from, origin.ring);
        const float *buckets = window_ring_buckets(from, origin.ring, origin.channel);

        for (int64_t number = state->head - origin.ring->capacity + 1; number <= state->head;
             number++) {
                float value = buckets[window_ring_index(origin.ring, number)];
                /* As late as it can be: no peak is forgotten early. */
                if (value >= 0)
                        window_ring_put(to, to_ring, channel,
                                        window_ring_latest_ms(from, origin.ring, number), value);
        }
}

struct window_store *window_store_replan(struct window_store *store, const struct window_plan *plan,
                                         const struct window_renumbering *renumbering) {
        struct window_store *to = window_store_new(plan);

        to->last_mono_ms = store->last_mono_ms;
        to->step_count = store->step_count;
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                struct origin origins[WINDOW_MAX_CHANNELS];
                FOREACH_CHANNEL (channel, ring->channels) {
                        origins[channel] = find_origin(store->plan, ring, channel, renumbering);
                        if (!origins[channel].ring)
                                continue;
                        to->counted |= (store->counted >> origins[channel].channel & 1) << channel;
                        if (ring->kind != WINDOW_CELLS)
                                replay_buckets(to, ring, channel, store, origins[channel]);
                }
                if (ring->kind == WINDOW_CELLS)
                        replay_cells(to, ring, store, origins, renumbering);
        }
        window_store_free(store);
        return to;
}
