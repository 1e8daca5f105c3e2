#include "controller/window/window_history.h"

#include "controller/window/window_ring.h"

/* Does @ring cover more of the last @span_ms than @best? */
static bool reaches_further(const struct window_ring *ring, const struct window_ring *best,
                            int64_t span_ms) {
        int64_t reach_ms = window_min_ms(ring->window_ms, span_ms);
        int64_t best_ms = window_min_ms(best->window_ms, span_ms);

        return reach_ms > best_ms ||
               (reach_ms == best_ms && ring->resolution_ms < best->resolution_ms);
}

static const struct window_ring *find_ring(const struct window_plan *plan, unsigned channel,
                                           int64_t span_ms) {
        const struct window_ring *best = NULL;

        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                if ((ring->channels >> channel & 1) &&
                    (!best || reaches_further(ring, best, span_ms)))
                        best = ring;
        }
        return best;
}

static float mean_between(const struct window_store *store, const struct window_ring *ring,
                          unsigned channel, int64_t begin_mono_ms, int64_t end_mono_ms) {
        struct window_sums sums = window_ring_between(store, ring, channel, begin_mono_ms,
                                                      end_mono_ms);

        return sums.den > 0 ? (float)(sums.num / sums.den) : WINDOW_HISTORY_UNKNOWN;
}

/* 0 is not a peak: controllers write it until they have one. */
static float peak_between(const struct window_store *store, const struct window_ring *ring,
                          unsigned channel, int64_t begin_mono_ms, int64_t end_mono_ms) {
        float ratio =
                window_ring_peak(store, ring, channel, begin_mono_ms, end_mono_ms, NULL).ratio;

        return ring->kind == WINDOW_PEAKS && ratio <= 0 ? WINDOW_HISTORY_UNKNOWN : ratio;
}

bool window_history(const struct window_store *store, unsigned channel, int64_t step_ms,
                    size_t count, int64_t now_mono_ms, float *ret_ratio) {
        const struct window_ring *ring = find_ring(store->plan, channel, (int64_t)count * step_ms);
        bool is_known = false;

        for (size_t i = 0; i < count; i++)
                ret_ratio[i] = WINDOW_HISTORY_UNKNOWN;
        if (!ring)
                return false;
        for (size_t i = 0; i < count; i++) {
                int64_t end_mono_ms = now_mono_ms - (int64_t)(count - 1 - i) * step_ms;
                int64_t begin_mono_ms = end_mono_ms - step_ms;
                ret_ratio[i] =
                        ring->kind == WINDOW_CELLS
                                ? mean_between(store, ring, channel, begin_mono_ms, end_mono_ms)
                                : peak_between(store, ring, channel, begin_mono_ms, end_mono_ms);
                is_known = is_known || ret_ratio[i] >= 0;
        }
        return is_known;
}
