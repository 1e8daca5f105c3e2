#include "controller/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "controller/window_plan.h"

/* Nothing that is measured comes near; what does is refused before it becomes a float. */
static const double ABSURD = 1e12;

/* A step that would overflow a cell's 32-bit span; 24 days. */
static const int64_t SPAN_LONGEST_MS = INT32_MAX;

static const float EMPTY = -1;

static uint32_t *cell_spans(const struct window_store *store, const struct window_ring *ring) {
        return (void *)(store->memory + ring->offset);
}

static struct window_cell *cells_of(const struct window_store *store,
                                    const struct window_ring *ring, unsigned channel) {
        struct window_cell *first = (void *)(cell_spans(store, ring) + ring->capacity);
        return first + window_ring_place(ring, channel) * ring->capacity;
}

static float *buckets_of(const struct window_store *store, const struct window_ring *ring,
                         unsigned channel) {
        float *first = (void *)(store->memory + ring->offset);
        return first + window_ring_place(ring, channel) * ring->capacity;
}

static struct window_ring_state *state_of(struct window_store *store,
                                          const struct window_ring *ring) {
        return &store->rings[ring - store->plan->rings];
}

static const struct window_ring_state *const_state_of(const struct window_store *store,
                                                      const struct window_ring *ring) {
        return &store->rings[ring - store->plan->rings];
}

/* Iterates over the set bits of a mask of channels. */
#define FOREACH_CHANNEL(channel, mask)                                                             \
        for (uint32_t rest_ = (mask), channel = 0;                                                 \
             rest_ && (channel = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)

/* Floor division: before the machine's start there are seeds, at negative times. */
static int64_t bucket_number(const struct window_ring *ring, int64_t mono_ms) {
        int64_t number = mono_ms / ring->resolution_ms;
        return mono_ms % ring->resolution_ms < 0 ? number - 1 : number;
}

static size_t bucket_index(const struct window_ring *ring, int64_t number) {
        int64_t index = number % ring->capacity;
        return (size_t)(index < 0 ? index + ring->capacity : index);
}

/* Cells: sums over adjoining spans of time. */

/* What the channels had in one span: all that a cell ring is told. */
struct span {
        int64_t ms;
        const struct window_cell *by_channel;
};

static void cells_add(struct window_store *store, const struct window_ring *ring,
                      struct span span) {
        struct window_ring_state *state = state_of(store, ring);
        uint32_t *spans = cell_spans(store, ring);

        /* Nothing from before such a span can still be in the window. */
        if (span.ms >= ring->window_ms || span.ms > SPAN_LONGEST_MS)
                state->count = 0;
        if (span.ms > SPAN_LONGEST_MS)
                span.ms = SPAN_LONGEST_MS;
        if (state->count == 0 || spans[state->head] >= ring->resolution_ms) {
                state->head = state->count == 0 ? 0 : (state->head + 1) % ring->capacity;
                if (state->count < ring->capacity)
                        state->count++;
                spans[state->head] = 0;
                FOREACH_CHANNEL (channel, ring->channels)
                        cells_of(store, ring, channel)[state->head] = (struct window_cell){0};
        }
        spans[state->head] += (uint32_t)span.ms;
        FOREACH_CHANNEL (channel, ring->channels) {
                struct window_cell *cell = &cells_of(store, ring, channel)[state->head];
                cell->num += span.by_channel[channel].num;
                cell->den += span.by_channel[channel].den;
        }
}

struct sums {
        double num;
        double den;
        double covered_ms;
};

/* Over the trailing window; the cell across its old edge counts by its share. */
static struct sums cells_sum(const struct window_store *store, const struct window_ring *ring,
                             unsigned channel, int64_t now_mono_ms) {
        const struct window_ring_state *state = const_state_of(store, ring);
        const struct window_cell *cells = cells_of(store, ring, channel);
        const uint32_t *spans = cell_spans(store, ring);
        int64_t edge_ms = now_mono_ms - ring->window_ms, end_ms = store->last_mono_ms;
        size_t index = (size_t)state->head;
        struct sums sums = {0};

        for (uint32_t i = 0; i < state->count && end_ms > edge_ms; i++) {
                double inside_ms = spans[index], share = 1;
                if (end_ms - spans[index] < edge_ms) {
                        inside_ms = (double)(end_ms - edge_ms);
                        share = inside_ms / spans[index];
                }
                if (cells[index].den > 0) {
                        sums.num += share * (double)cells[index].num;
                        sums.den += share * (double)cells[index].den;
                        sums.covered_ms += inside_ms;
                }
                end_ms -= spans[index];
                index = index == 0 ? ring->capacity - 1 : index - 1;
        }
        return sums;
}

/* Buckets: one number per fixed stretch of time. */

static void buckets_put(struct window_store *store, const struct window_ring *ring,
                        unsigned channel, int64_t mono_ms, float value) {
        struct window_ring_state *state = state_of(store, ring);
        int64_t number = bucket_number(ring, mono_ms);

        if (state->count == 0) {
                state->count = 1;
                state->head = number;
        }
        if (number <= state->head - ring->capacity)
                return;
        /* From the old head on, but once around at most: what is passed over is empty. */
        int64_t first = state->head + 1;
        if (first < number - ring->capacity + 1)
                first = number - ring->capacity + 1;
        for (; first <= number; first++) {
                FOREACH_CHANNEL (any, ring->channels)
                        buckets_of(store, ring, any)[bucket_index(ring, first)] = EMPTY;
        }
        if (number > state->head)
                state->head = number;

        float *bucket = &buckets_of(store, ring, channel)[bucket_index(ring, number)];
        if (ring->kind == WINDOW_MEANS || value > *bucket)
                *bucket = value;
}

static bool bucket_is_empty(const struct window_store *store, const struct window_ring *ring,
                            unsigned channel, int64_t mono_ms) {
        const struct window_ring_state *state = const_state_of(store, ring);
        int64_t number = bucket_number(ring, mono_ms);

        return state->count == 0 || number > state->head ||
               number <= state->head - ring->capacity ||
               buckets_of(store, ring, channel)[bucket_index(ring, number)] < 0;
}

/* The filled buckets of the window, in any order. Returns their number, at most the capacity. */
static size_t buckets_collect(const struct window_store *store, const struct window_ring *ring,
                              unsigned channel, int64_t now_mono_ms, float *ret_values) {
        const struct window_ring_state *state = const_state_of(store, ring);
        const float *buckets = buckets_of(store, ring, channel);
        int64_t oldest = bucket_number(ring, now_mono_ms - ring->window_ms);
        size_t count = 0;

        if (state->count == 0)
                return 0;
        if (oldest < state->head - ring->capacity + 1)
                oldest = state->head - ring->capacity + 1;
        for (int64_t number = oldest; number <= state->head; number++) {
                float value = buckets[bucket_index(ring, number)];
                if (value >= 0)
                        ret_values[count++] = value;
        }
        return count;
}

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
                        float *buckets = buckets_of(store, ring, channel);
                        for (size_t b = 0; b < ring->capacity; b++)
                                buckets[b] = EMPTY;
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

/* A channel's share of a step; den 0 when it doesn't count. */
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
        return (struct window_cell){.num = (float)(num * weight), .den = (float)(den * weight)};
}

/* The 5-minute mean at the time of the last step becomes a peak or a mean of its moment: at once
 * when it was handed in, ours once it is one. Returns the channels that had theirs handed in. */
static uint32_t remember_means(struct window_store *store, const struct window_step *step) {
        const struct window_plan *plan = store->plan;
        int64_t now_mono_ms = store->last_mono_ms;
        float mean[WINDOW_MAX_CHANNELS];
        uint32_t valid = 0, given = 0;

        if (plan->means == plan->ring_count)
                return 0;
        const struct window_ring *cells = &plan->rings[plan->means];
        FOREACH_CHANNEL (channel, cells->channels & step->means) {
                if (!is_sane(step->num[channel]))
                        continue;
                mean[channel] = (float)step->num[channel];
                given |= UINT32_C(1) << channel;
        }
        FOREACH_CHANNEL (channel, cells->channels & ~step->means) {
                struct sums sums = cells_sum(store, cells, channel, now_mono_ms);
                if (sums.den <= 0 || sums.covered_ms < WINDOW_MEAN_MS / 2.0)
                        continue;
                mean[channel] = (float)(sums.num / sums.den);
                valid |= UINT32_C(1) << channel;
        }
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                if (ring->kind == WINDOW_CELLS)
                        continue;
                FOREACH_CHANNEL (channel, ring->channels & (valid | given))
                        buckets_put(store, ring, channel, now_mono_ms, mean[channel]);
        }
        return given;
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
                        cells_add(store, &plan->rings[i], (struct span){span_ms, by_channel});
        }
        store->counted |= counted | remember_means(store, step);
        return counted;
}

bool window_store_seed(struct window_store *store, const struct metric_query *query, double ratio,
                       int64_t age_ms, int64_t now_mono_ms) {
        const struct window_plan *plan = store->plan;
        unsigned channel = (unsigned)query->resource;
        bool is_max = query->statistic == METRIC_MAX || query->statistic == METRIC_MAX_AVG;
        bool is_mean = query->statistic == METRIC_AVG && query->window_ms == WINDOW_MEAN_MS;
        bool taken = false;

        if (!is_sane(ratio) || (!is_max && !is_mean))
                return false;
        if (age_ms < 0)
                age_ms = 0;
        for (size_t i = 0; i < plan->ring_count; i++) {
                const struct window_ring *ring = &plan->rings[i];
                bool is_asked = ring->kind == WINDOW_PEAKS
                                        ? !is_max || ring->window_ms >= window_length_ms(query)
                                        : ring->kind == WINDOW_MEANS && is_mean;
                if (!is_asked || !(ring->channels >> channel & 1) || age_ms >= ring->window_ms)
                        continue;
                if (ring->kind == WINDOW_PEAKS ||
                    bucket_is_empty(store, ring, channel, now_mono_ms - age_ms))
                        buckets_put(store, ring, channel, now_mono_ms - age_ms, (float)ratio);
                taken = true;
        }
        return taken;
}

bool window_store_last_ms(const struct window_store *store, int64_t *ret_mono_ms) {
        if (store->step_count == 0)
                return false;
        *ret_mono_ms = store->last_mono_ms;
        return true;
}

/* Another plan. */

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
        const struct window_ring_state *state = const_state_of(from, from_ring);

        for (uint32_t age = state->count; age-- > 0;) {
                size_t index = bucket_index(from_ring, state->head - age);
                struct window_cell by_channel[WINDOW_MAX_CHANNELS] = {{0}};
                FOREACH_CHANNEL (channel, to_ring->channels) {
                        int old = old_channel(renumbering, channel, from_ring);
                        if (old >= 0)
                                by_channel[channel] = cells_of(from, from_ring,
                                                               (unsigned)old)[index];
                }
                cells_add(to, to_ring,
                          (struct span){cell_spans(from, from_ring)[index], by_channel});
        }
}

static void replay_buckets(struct window_store *to, const struct window_ring *to_ring,
                           const struct window_store *from, const struct window_ring *from_ring,
                           unsigned channel, unsigned old) {
        const struct window_ring_state *state = const_state_of(from, from_ring);
        const float *buckets = buckets_of(from, from_ring, old);

        if (state->count == 0)
                return;
        for (int64_t number = state->head - from_ring->capacity + 1; number <= state->head;
             number++) {
                float value = buckets[bucket_index(from_ring, number)];
                if (value < 0)
                        continue;
                /* The latest moment that it can be of: no peak is forgotten early. */
                int64_t begin_ms = number * from_ring->resolution_ms;
                int64_t at_ms = begin_ms + from_ring->resolution_ms - 1;
                if (from->last_mono_ms >= begin_ms && from->last_mono_ms < at_ms)
                        at_ms = from->last_mono_ms;
                buckets_put(to, to_ring, channel, at_ms, value);
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

/* Reading. */

const char *window_status_text(enum window_status status) {
        static const char *const texts[] = {
                [WINDOW_KNOWN] = "known",
                [WINDOW_NOT_PLANNED] = "not among the windows that are kept",
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

/* Nearest rank: the smallest value that at least this share of the values does not exceed. */
static float quantile(float *values, size_t count, double share) {
        size_t rank = (size_t)ceil(share * (double)count);

        qsort(values, count, sizeof(*values), compare_floats);
        return values[rank > 0 ? rank - 1 : 0];
}

static float summarise(enum metric_statistic statistic, float *values, size_t count) {
        switch (statistic) {
        case METRIC_P50:
                return quantile(values, count, 0.50);
        case METRIC_P90:
                return quantile(values, count, 0.90);
        case METRIC_P95:
                return quantile(values, count, 0.95);
        case METRIC_P99:
                return quantile(values, count, 0.99);
        case METRIC_AVG:
        case METRIC_MAX_AVG:
        case METRIC_MAX:
        default:
                for (size_t i = 1; i < count; i++)
                        values[0] = fmaxf(values[0], values[i]);
                return values[0];
        }
}

/* A ring's buckets and the mean of this moment. */
enum { VALUES_MAX = WINDOW_MAX_CAPACITY + 1 };

struct window_reading window_read(const struct window_store *store,
                                  const struct metric_query *query, int64_t now_mono_ms) {
        const struct window_plan *plan = store->plan;
        const struct window_ring *ring = window_plan_find(plan, query);
        unsigned channel = (unsigned)query->resource;
        struct window_reading reading = {.status = WINDOW_NOT_PLANNED};

        if (!ring)
                return reading;
        reading.status = unknown_status(store, ring, now_mono_ms);
        if (!(store->counted >> channel & 1))
                return reading;

        double window_ms = (double)ring->window_ms;
        if (ring->kind == WINDOW_CELLS) {
                struct sums sums = cells_sum(store, ring, channel, now_mono_ms);
                if (sums.den <= 0)
                        return reading;
                reading.ratio = sums.num / sums.den;
                reading.fullness = fmin(sums.covered_ms / window_ms, 1);
        } else {
                float values[VALUES_MAX];
                size_t count = buckets_collect(store, ring, channel, now_mono_ms, values);
                struct sums mean = cells_sum(store, &plan->rings[plan->means], channel,
                                             store->last_mono_ms);
                float provisional = -1;
                reading.fullness = fmin((double)count * (double)ring->resolution_ms / window_ms, 1);
                /* The mean of this moment, even if it isn't full enough to be remembered. */
                if (mean.den > 0 && now_mono_ms - store->last_mono_ms < ring->window_ms &&
                    (ring->kind == WINDOW_PEAKS || count == 0)) {
                        values[count++] = (float)(mean.num / mean.den);
                        if (mean.covered_ms < WINDOW_MEAN_MS / 2.0)
                                provisional = values[count - 1];
                        reading.fullness = fmax(reading.fullness,
                                                fmin(mean.covered_ms / window_ms, 1));
                }
                if (count == 0)
                        return reading;
                float value = summarise(query->statistic, values, count);
                reading.ratio = (double)value;
                reading.is_provisional = value == provisional;
        }
        reading.status = WINDOW_KNOWN;
        return reading;
}

bool window_value(const struct window_store *store, const struct metric_query *query,
                  int64_t now_mono_ms, double *ret_ratio) {
        struct window_reading reading = window_read(store, query, now_mono_ms);

        if (reading.status != WINDOW_KNOWN)
                return false;
        *ret_ratio = reading.ratio;
        return true;
}
