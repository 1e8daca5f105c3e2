#include "controller/window/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "controller/window/window_ring.h"

/* Larger than anything that is measured; refused before it becomes a float. */
static const double ABSURD = 1e12;

/* The store. */

struct window_store *window_store_new(const struct window_plan *plan) {
        struct window_store *store = xcalloc(1, plan->store_bytes);

        store->plan = plan;
        store->memory = (char *)store;
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                if (ring->kind == WINDOW_CELLS)
                        continue;
                FOREACH_CHANNEL (channel, ring->channels) {
                        float *buckets = window_ring_buckets(store, ring, channel);
                        for (size_t b = 0; b < ring->capacity; b++)
                                buckets[b] = WINDOW_EMPTY;
                }
        }
        return store;
}

void window_store_free(struct window_store *store) {
        free(store);
}

static bool is_sane(double value) {
        return number_is_finite(value) && value >= 0 && value <= ABSURD;
}

/* A channel's part of a step; den is 0 if it does not count. */
static struct window_cell step_cell(const struct window_plan *plan, const struct window_step *step,
                                    unsigned channel, int64_t span_ms) {
        const struct window_cell nothing = {0};
        bool is_counter = step->counters >> channel & 1;
        double weight = is_counter ? 1 : (double)span_ms;

        if (!is_counter && !((step->gauges | step->means) >> channel & 1))
                return nothing;
        if (span_ms > (is_counter ? plan->counter_gap_ms : plan->gauge_gap_ms))
                return nothing;
        double num = step->num[channel], den = is_counter ? step->den[channel] : 1;
        if (!is_sane(num) || !is_sane(den) || den == 0)
                return nothing;
        if (is_counter)
                num = fmin(num, den);
        return (struct window_cell){.num = (float)(num * weight),
                                    .den = (float)(den * weight),
                                    .covered_ms = (float)span_ms};
}

/* Remembers the 5-minute means at the time of the last step. A mean that the source has computed
 * counts at once, ours as soon as half of it has data. Returns the channels of the former. */
static uint32_t remember_means(struct window_store *store, const struct window_step *step) {
        const struct window_plan *plan = store->plan;
        int64_t now_mono_ms = store->last_mono_ms;
        float mean[WINDOW_MAX_CHANNELS];
        uint32_t own = 0, from_source = 0;

        if (plan->means == plan->ring_count)
                return 0;
        const struct window_ring *cells = &plan->rings[plan->means];
        FOREACH_CHANNEL (channel, cells->channels & step->means) {
                if (!is_sane(step->num[channel]))
                        continue;
                mean[channel] = (float)step->num[channel];
                from_source |= UINT32_C(1) << channel;
        }
        FOREACH_CHANNEL (channel, cells->channels & ~step->means) {
                struct window_sums sums = window_ring_sum(store, cells, channel);
                if (sums.den <= 0 || sums.covered_ms < WINDOW_MEAN_MS / 2.0)
                        continue;
                mean[channel] = (float)(sums.num / sums.den);
                own |= UINT32_C(1) << channel;
        }
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                if (ring->kind == WINDOW_CELLS)
                        continue;
                FOREACH_CHANNEL (channel, ring->channels & (own | from_source))
                        window_ring_put(store, ring, channel, now_mono_ms, mean[channel]);
        }
        return from_source;
}

uint32_t window_store_add(struct window_store *store, const struct window_step *step) {
        const struct window_plan *plan = store->plan;
        struct window_cell by_channel[WINDOW_MAX_CHANNELS];
        uint32_t counted = 0;

        if (store->step_count == 0) {
                store->last_mono_ms = step->at_mono_ms;
                store->step_count = 1;
                store->counted |= remember_means(store, step);
                return 0;
        }
        int64_t span_ms = step->at_mono_ms - store->last_mono_ms;
        if (span_ms <= 0)
                return 0;
        store->last_mono_ms = step->at_mono_ms;
        store->step_count = 2;

        FOREACH_CHANNEL (channel, plan->channels) {
                by_channel[channel] = step_cell(plan, step, channel, span_ms);
                if (by_channel[channel].den > 0)
                        counted |= UINT32_C(1) << channel;
        }
        for (size_t i = 0; i < plan->ring_count; i++) {
                if (plan->rings[i].kind == WINDOW_CELLS)
                        window_ring_add(store, &plan->rings[i],
                                        (struct window_span){span_ms, by_channel});
        }
        store->counted |= counted | remember_means(store, step);
        return counted;
}

bool window_store_seed(struct window_store *store, const struct metric_query *query, double ratio,
                       int64_t age_ms, int64_t now_mono_ms) {
        const struct window_plan *plan = store->plan;
        unsigned channel = (unsigned)query->resource;
        bool is_max = query->statistic == METRIC_MAX;
        bool is_mean = query->statistic == METRIC_AVG && query->window_ms == WINDOW_MEAN_MS;
        bool is_stored = false;

        if (!is_sane(ratio) || (!is_max && !is_mean))
                return false;
        age_ms = window_max_ms(age_ms, 0);
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                bool is_fit = ring->kind == WINDOW_PEAKS
                                      ? !is_max || ring->window_ms >= window_length_ms(query)
                                      : ring->kind == WINDOW_MEANS && is_mean;
                if (!is_fit || !(ring->channels >> channel & 1) || age_ms >= ring->window_ms)
                        continue;
                int64_t at_mono_ms = now_mono_ms - age_ms;
                if (ring->kind == WINDOW_PEAKS ||
                    window_ring_peak(store, ring, channel, at_mono_ms, at_mono_ms + 1, NULL)
                                    .buckets == 0)
                        window_ring_put(store, ring, channel, at_mono_ms, (float)ratio);
                is_stored = true;
        }
        return is_stored;
}

void window_store_restart_means(struct window_store *store, unsigned channel) {
        for (size_t i = 0; i < store->plan->ring_count; i++) {
                const struct window_ring *ring = &store->plan->rings[i];
                if (ring->kind == WINDOW_CELLS && (ring->channels >> channel & 1))
                        memset(window_ring_cells(store, ring, channel), 0,
                               ring->capacity * sizeof(struct window_cell));
        }
}

/* Reading. */

const char *window_status_text(enum window_status status) {
        static const char *const texts[] = {
                [WINDOW_KNOWN] = "known",
                [WINDOW_NOT_PLANNED] = "no window is kept for it",
                [WINDOW_NO_SCRAPE] = "no scrape so far",
                [WINDOW_ONE_SCRAPE] = "only one scrape so far",
                [WINDOW_NO_DATA] = "no interval with usable values in the window",
                [WINDOW_STALE] = "the last scrape is older than the window",
        };

        return texts[status];
}

static enum window_status unknown_status(const struct window_store *store,
                                         const struct window_ring *ring, int64_t now_mono_ms) {
        if (store->step_count == 0)
                return WINDOW_NO_SCRAPE;
        if (store->step_count == 1)
                return WINDOW_ONE_SCRAPE;
        return now_mono_ms - store->last_mono_ms >= ring->window_ms ? WINDOW_STALE : WINDOW_NO_DATA;
}

static int compare_floats(const void *a, const void *b) {
        float x = *(const float *)a, y = *(const float *)b;
        return x < y ? -1 : x > y;
}

/* Nearest rank: the smallest value that at least this share of all values, > 0, does not exceed.
 * @count: > 0 */
static float quantile(float *values, size_t count, double share) {
        size_t rank = (size_t)ceil(share * (double)count);

        qsort(values, count, sizeof(*values), compare_floats);
        return values[rank - 1];
}

static const double quantile_shares[] = {
        [METRIC_P50] = 0.50,
        [METRIC_P90] = 0.90,
        [METRIC_P95] = 0.95,
        [METRIC_P99] = 0.99,
};

static double buckets_fullness(const struct window_ring *ring, size_t count) {
        return fmin((double)count * (double)ring->resolution_ms / (double)ring->window_ms, 1);
}

/* Each of these sets @ret except for status and age. They return false if there is no value. */

/* The mean in @cells at the newest step, however little data it has. It must not be older than the
 * window of @ring, which is read. */
static bool read_mean(const struct window_store *store, const struct window_ring *cells,
                      const struct window_ring *ring, unsigned channel,
                      struct window_reading *ret) {
        struct window_sums sums = window_ring_sum(store, cells, channel);

        if (sums.den <= 0 || ret->age_ms >= ring->window_ms)
                return false;
        ret->ratio = sums.num / sums.den;
        ret->fullness = fmin(sums.covered_ms / (double)ring->window_ms, 1);
        ret->is_provisional = sums.covered_ms < (double)cells->window_ms / 2;
        return true;
}

static bool read_maximum(const struct window_store *store, const struct window_ring *ring,
                         unsigned channel, int64_t now_mono_ms, struct window_reading *ret) {
        struct window_peak peak = window_ring_peak(store, ring, channel,
                                                   now_mono_ms - ring->window_ms, INT64_MAX, NULL);
        bool has_mean = read_mean(store, &store->plan->rings[store->plan->means], ring, channel,
                                  ret);

        if (peak.buckets == 0 && !has_mean)
                return false;
        if (!has_mean || peak.ratio > 0 || ret->ratio <= (double)peak.ratio) {
                ret->ratio = (double)peak.ratio;
                ret->is_provisional = false;
        }
        ret->fullness = fmax(buckets_fullness(ring, peak.buckets), ret->fullness);
        ret->has_peak = true;
        if (peak.buckets == 0)
                return true;
        ret->peak_ratio = (double)peak.ratio;
        ret->peak_age_ms = window_max_ms(now_mono_ms - peak.at_mono_ms, 0);
        return true;
}

static bool read_quantile(const struct window_store *store, const struct window_ring *ring,
                          const struct metric_query *query, int64_t now_mono_ms,
                          struct window_reading *ret) {
        float values[WINDOW_MAX_CAPACITY];
        unsigned channel = (unsigned)query->resource;
        size_t count = window_ring_peak(store, ring, channel, now_mono_ms - ring->window_ms,
                                        INT64_MAX, values)
                               .buckets;

        if (count == 0)
                return read_mean(store, &store->plan->rings[store->plan->means], ring, channel,
                                 ret);
        ret->ratio = (double)quantile(values, count, quantile_shares[query->statistic]);
        ret->fullness = buckets_fullness(ring, count);
        return true;
}

struct window_reading window_read(const struct window_store *store,
                                  const struct metric_query *query, int64_t now_mono_ms) {
        const struct window_ring *ring = window_plan_find(store->plan, query);
        unsigned channel = (unsigned)query->resource;
        struct window_reading reading = {.status = WINDOW_NOT_PLANNED};
        bool is_known = false;

        if (!ring)
                return reading;
        reading.status = unknown_status(store, ring, now_mono_ms);
        if (!(store->counted >> channel & 1))
                return reading;
        reading.age_ms = now_mono_ms - store->last_mono_ms;
        switch (ring->kind) {
        case WINDOW_CELLS:
                is_known = read_mean(store, ring, ring, channel, &reading);
                break;
        case WINDOW_PEAKS:
                is_known = read_maximum(store, ring, channel, now_mono_ms, &reading);
                break;
        case WINDOW_MEANS:
        default:
                is_known = read_quantile(store, ring, query, now_mono_ms, &reading);
                break;
        }
        if (is_known)
                reading.status = WINDOW_KNOWN;
        return reading;
}
