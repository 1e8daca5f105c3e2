/* The rings of a window store, by worked edges, and against plain models: a list of spans, and a
 * map of stretches that forgets nothing. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/window/window_ring.h"
#include "tests/unit/fixture/full_size.h"

/* Channels whose places in a ring are not their numbers. */
enum { FIRST = 1, SECOND = 4, CHANNELS = 2 };
static const unsigned channels[CHANNELS] = {FIRST, SECOND};

static int64_t pick(int64_t count) {
        return (int64_t)draw() % count;
}

/* A store of one ring, laid out by hand. */
struct one_ring {
        struct window_plan *plan;
        struct window_store *store;
        const struct window_ring *ring;
};

static struct one_ring ring_new(enum window_ring_kind kind, int64_t window_ms,
                                int64_t resolution_ms, uint32_t capacity) {
        struct window_plan *plan = xcalloc(1, sizeof(*plan) + sizeof(plan->rings[0]));
        size_t offset = sizeof(struct window_store) + sizeof(struct window_ring_state);
        size_t bytes = kind == WINDOW_CELLS
                               ? sizeof(uint32_t) + CHANNELS * sizeof(struct window_cell)
                               : CHANNELS * sizeof(float);

        plan->ring_count = 1;
        plan->store_bytes = offset + capacity * bytes;
        plan->rings[0] = (struct window_ring){
                .kind = kind,
                .window_ms = window_ms,
                .resolution_ms = resolution_ms,
                .channels = 1u << FIRST | 1u << SECOND,
                .capacity = capacity,
                .offset = offset,
        };
        return (struct one_ring){plan, window_store_new(plan), plan->rings};
}

static void ring_done(struct one_ring *of) {
        window_store_free(of->store);
        window_plan_free(of->plan);
}

TEST(index) {
        static const struct {
                int64_t number;
                size_t index;
        } rows[] = {{0, 0}, {4, 4}, {5, 0}, {7, 2}, {-1, 4}, {-4, 1}, {-5, 0}, {-6, 4}};
        const struct window_ring ring = {.capacity = 5};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(window_ring_index(&ring, rows[i].number), rows[i].index);
}

/* Cells. */

/* The next span: @first has @num of @den, and data for @covered_ms; the second channel twice that.
 */
static void add(struct one_ring *of, int64_t span_ms, struct window_cell first) {
        struct window_cell by_channel[WINDOW_MAX_CHANNELS] = {{0}};

        by_channel[FIRST] = first;
        by_channel[SECOND] = (struct window_cell){
                2 * first.num,
                2 * first.den,
                2 * first.covered_ms,
        };
        of->store->last_mono_ms += span_ms;
        window_ring_add(of->store, of->ring, (struct window_span){span_ms, by_channel});
}

static uint32_t cell_count(const struct one_ring *of) {
        return window_ring_state(of->store, of->ring)->count;
}

/* The span of a cell, 0 for the newest. */
static int64_t cell_span_ms(const struct one_ring *of, uint32_t age) {
        int64_t head = window_ring_state(of->store, of->ring)->head;

        return window_ring_spans(of->store, of->ring)[window_ring_index(of->ring, head - age)];
}

/* Which spans share a cell, and which cells are forgotten. */
TEST(spans) {
        enum { MOST = 8 };
        static const int64_t LONGEST_MS = INT32_MAX; /* what a cell's span can say */
        static const struct {
                int64_t window_ms, resolution_ms;
                int64_t spans_ms[MOST], cells_ms[MOST]; /* oldest first */
        } rows[] = {
                {100, 10, {1}, {1}},
                {100, 10, {4, 4, 1, 4, 4}, {13, 4}}, /* open at 9 */
                {100, 10, {10, 4}, {10, 4}},         /* closed at 10 */
                {100, 10, {9, 4}, {13}},
                {100, 10, {3, 19, 4}, {22, 4}},
                {100, 10, {3, 20, 4}, {3, 20, 4}}, /* two cells long: one of its own */
                {100, 10, {3, 99, 4}, {3, 99, 4}},
                {100, 10, {3, 100, 4}, {100, 4}}, /* the whole window: nothing else is in it */
                {100, 10, {11, 12, 13, 14, 15}, {11, 12, 13, 14, 15}},
                {100, 10, {11, 12, 13, 14, 15, 16, 17}, {13, 14, 15, 16, 17}}, /* the capacity */
                {100, 10, {11, 12, 13, 14, 15, 16, 100, 18}, {100, 18}},
                {3 * LONGEST_MS, LONGEST_MS, {3, 2 * LONGEST_MS}, {LONGEST_MS}},
                {3 * LONGEST_MS, LONGEST_MS / 2, {3, LONGEST_MS}, {3, LONGEST_MS}},
                {3 * LONGEST_MS, LONGEST_MS / 2, {3, LONGEST_MS + 1, 4}, {LONGEST_MS, 4}},
                {3 * LONGEST_MS, LONGEST_MS / 2, {INT64_MAX / 2}, {LONGEST_MS}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct one_ring of = ring_new(WINDOW_CELLS, rows[i].window_ms,
                                              rows[i].resolution_ms, 5);
                uint32_t count = 0;
                for (size_t k = 0; k < MOST && rows[i].spans_ms[k] > 0; k++)
                        add(&of, rows[i].spans_ms[k], (struct window_cell){1, 1, 1});
                while (count < MOST && rows[i].cells_ms[count] > 0)
                        count++;
                assert_int_equal(cell_count(&of), count);
                for (uint32_t age = 0; age < count; age++)
                        assert_int_equal(cell_span_ms(&of, age), rows[i].cells_ms[count - 1 - age]);
                ring_done(&of);
        }
}

static void check_sums(struct window_sums sums, struct window_sums expected) {
        if (fabs(sums.num - expected.num) > 1e-6 || fabs(sums.den - expected.den) > 1e-6 ||
            fabs(sums.covered_ms - expected.covered_ms) > 1e-6)
                fail_msg("%.9g of %.9g in %.9g ms, not %.9g of %.9g in %.9g ms", sums.num, sums.den,
                         sums.covered_ms, expected.num, expected.den, expected.covered_ms);
}

/* All that was added, in cells as window.h describes them; the newest last. */
struct cell_model {
        size_t count;
        struct {
                int64_t span_ms;
                struct window_sums sums;
        } cells[4096];
        size_t first; /* of those that are remembered */
};

static void model_add(struct cell_model *model, const struct window_ring *ring, int64_t span_ms,
                      struct window_cell cell) {
        if (span_ms >= ring->window_ms)
                model->first = model->count;
        if (model->first == model->count ||
            model->cells[model->count - 1].span_ms >= ring->resolution_ms ||
            span_ms >= 2 * ring->resolution_ms)
                memset(&model->cells[model->count++], 0, sizeof(model->cells[0]));
        if (model->count - model->first > ring->capacity)
                model->first++;
        struct window_sums *sums = &model->cells[model->count - 1].sums;
        model->cells[model->count - 1].span_ms += span_ms;
        sums->num += (double)cell.num;
        sums->den += (double)cell.den;
        sums->covered_ms += (double)cell.covered_ms;
}

static struct window_sums model_between(const struct cell_model *model, int64_t last_ms,
                                        int64_t begin_ms, int64_t end_ms) {
        struct window_sums sums = {0};
        int64_t cell_end_ms = last_ms;

        for (size_t i = model->count; i-- > model->first;) {
                double span_ms = (double)model->cells[i].span_ms;
                double inside_ms = fmin((double)end_ms, (double)cell_end_ms) -
                                   fmax((double)begin_ms, (double)cell_end_ms - span_ms);
                double share = fmax(inside_ms, 0) / span_ms;
                sums.num += share * model->cells[i].sums.num;
                sums.den += share * model->cells[i].sums.den;
                sums.covered_ms += share * model->cells[i].sums.covered_ms;
                cell_end_ms -= model->cells[i].span_ms;
        }
        return sums;
}

static void check_cells(const struct one_ring *of, const struct cell_model *model) {
        int64_t last_ms = of->store->last_mono_ms, window_ms = of->ring->window_ms;
        int64_t begin_ms = last_ms - pick(2 * window_ms), end_ms = begin_ms + pick(window_ms);

        assert_int_equal(cell_count(of), model->count - model->first);
        for (uint32_t age = 0; age < cell_count(of); age++)
                assert_int_equal(cell_span_ms(of, age),
                                 model->cells[model->count - 1 - age].span_ms);
        check_sums(window_ring_between(of->store, of->ring, FIRST, begin_ms, end_ms),
                   model_between(model, last_ms, begin_ms, end_ms));
        /* Before all cells, to see that what is forgotten is. */
        check_sums(window_ring_between(of->store, of->ring, FIRST, INT32_MIN, last_ms),
                   model_between(model, last_ms, INT32_MIN, last_ms));
        check_sums(window_ring_sum(of->store, of->ring, FIRST),
                   model_between(model, last_ms, last_ms - window_ms, last_ms));
}

TEST(cells_against_model) {
        static const uint32_t capacities[] = {2, 5, 26};
        static const int64_t spans_ms[] = {1, 3, 15, 16, 17, 31, 32, 33, 399, 400, 401};

        for (size_t i = 0; i < ARRAY_LEN(capacities); i++) {
                struct one_ring of = ring_new(WINDOW_CELLS, 400, 16, capacities[i]);
                struct cell_model *model = xcalloc(1, sizeof(*model));
                while (model->count < ARRAY_LEN(model->cells) / (unsigned)full_size(1, 8)) {
                        /* A long one seldom: it clears the ring. */
                        int64_t span_ms = spans_ms[pick(pick(20) == 0 ? 11 : 8)];
                        float covered_ms = (float)pick(span_ms + 1);
                        struct window_cell cell = {(float)pick(100), 100 + (float)pick(2),
                                                   covered_ms};
                        add(&of, span_ms, cell);
                        model_add(model, of.ring, span_ms, cell);
                        check_cells(&of, model);
                }
                free(model);
                ring_done(&of);
        }
}

/* Buckets. */

enum { RESOLUTION_MS = 10, CAPACITY = 5 };

static struct window_peak peak_at(const struct one_ring *of, int64_t now_ms) {
        return window_ring_peak(of->store, of->ring, FIRST, now_ms - of->ring->window_ms, INT64_MAX,
                                NULL);
}

/* Before the first mean, and of a channel that has none. */
TEST(no_mean) {
        struct one_ring of = ring_new(WINDOW_PEAKS, 40, RESOLUTION_MS, CAPACITY);

        for (int i = 0; i < 2; i++) {
                float values[CAPACITY] = {42};
                assert_true(window_ring_peak(of.store, of.ring, FIRST, -99, 99, values).ratio ==
                            WINDOW_EMPTY);
                assert_true(values[0] == 42.0F);
                assert_true(peak_at(&of, 0).ratio == WINDOW_EMPTY);
                assert_int_equal(peak_at(&of, 0).buckets, 0);
                window_ring_put(of.store, of.ring, SECOND, 0, 0.5F);
        }
        ring_done(&of);
}

/* A bucket's last moment, but not after the newest step unless the bucket is. */
TEST(latest) {
        static const struct {
                int64_t last_ms, number, latest_ms;
        } rows[] = {
                {25, 1, 19}, {25, 2, 25}, {25, 3, 39},    {20, 2, 20}, {19, 2, 29},
                {29, 2, 29}, {30, 2, 29}, {-25, -3, -25}, {0, -1, -1}, {-12, -1, -1},
        };
        struct one_ring of = ring_new(WINDOW_PEAKS, 40, RESOLUTION_MS, CAPACITY);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                of.store->last_mono_ms = rows[i].last_ms;
                assert_int_equal(window_ring_latest_ms(of.store, of.ring, rows[i].number),
                                 rows[i].latest_ms);
        }
        ring_done(&of);
}

/* The mean of each stretch, whether or not the ring still has it. */
enum { LOWEST = -64, STRETCHES = 4096 };

struct bucket_model {
        int64_t newest;
        float values[CHANNELS][STRETCHES];
};

static int64_t stretch_of(int64_t at_ms) {
        return (int64_t)floor((double)at_ms / RESOLUTION_MS);
}

static float model_at(const struct bucket_model *model, size_t channel, int64_t stretch) {
        if (stretch <= model->newest - CAPACITY || stretch > model->newest)
                return WINDOW_EMPTY;
        return model->values[channel][stretch - LOWEST];
}

static void model_put(struct bucket_model *model, enum window_ring_kind kind, size_t channel,
                      int64_t at_ms, float value) {
        float *known = &model->values[channel][stretch_of(at_ms) - LOWEST];

        if (stretch_of(at_ms) <= model->newest - CAPACITY)
                return;
        if (stretch_of(at_ms) > model->newest)
                model->newest = stretch_of(at_ms);
        if (kind == WINDOW_MEANS || value > *known)
                *known = value;
}

static void check_stretches(const struct one_ring *of, const struct bucket_model *model,
                            size_t channel, int64_t now_ms) {
        float values[CAPACITY + 1], sum = 0, largest = WINDOW_EMPTY;
        int64_t at = 0;
        size_t count = 0;

        for (int64_t i = stretch_of(now_ms - of->ring->window_ms); i <= model->newest; i++) {
                float value = model_at(model, channel, i);
                if (value < 0)
                        continue;
                count++;
                sum += value;
                at = value >= largest ? i : at;
                largest = value >= largest ? value : largest;
        }
        struct window_peak peak = window_ring_peak(of->store, of->ring, channels[channel],
                                                   now_ms - of->ring->window_ms, INT64_MAX, values);
        assert_int_equal(peak.buckets, count);
        assert_true(peak.ratio == largest);
        if (count > 0)
                assert_int_equal(peak.at_mono_ms, window_ring_latest_ms(of->store, of->ring, at));
        for (size_t i = 0; i < count; i++)
                sum -= values[i];
        assert_true(sum == 0.0F);
}

static void check_between(const struct one_ring *of, const struct bucket_model *model,
                          size_t channel, int64_t begin_ms, int64_t end_ms) {
        float largest = WINDOW_EMPTY;

        for (int64_t at_ms = begin_ms; at_ms < end_ms; at_ms++)
                largest = fmaxf(largest, model_at(model, channel, stretch_of(at_ms)));
        struct window_peak peak = window_ring_peak(of->store, of->ring, channels[channel], begin_ms,
                                                   end_ms, NULL);
        assert_true(peak.ratio == largest);
}

TEST(buckets_against_model) {
        static const enum window_ring_kind kinds[] = {WINDOW_PEAKS, WINDOW_MEANS};
        static const int64_t jumps[] = {-6, -5, -4, -1, 0, 0, 0, 1, 1, 1, 2, 4, 5, 6, 12};

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                struct one_ring of = ring_new(kinds[i], 40, RESOLUTION_MS, CAPACITY);
                struct bucket_model *model = xcalloc(1, sizeof(*model));
                for (size_t k = 0; k < STRETCHES; k++)
                        model->values[0][k] = model->values[1][k] = WINDOW_EMPTY;
                model->newest = LOWEST + 16;
                window_ring_put(of.store, of.ring, FIRST, model->newest * RESOLUTION_MS, 0);
                model_put(model, kinds[i], 0, model->newest * RESOLUTION_MS, 0);
                while (model->newest < LOWEST + STRETCHES - 16) {
                        size_t channel = (size_t)pick(CHANNELS);
                        int64_t stretch = model->newest + jumps[pick(ARRAY_LEN(jumps))];
                        int64_t at_ms = stretch * RESOLUTION_MS + pick(RESOLUTION_MS);
                        float value = 0.25F * (float)pick(4);
                        of.store->last_mono_ms = at_ms + pick(RESOLUTION_MS);
                        window_ring_put(of.store, of.ring, channels[channel], at_ms, value);
                        model_put(model, kinds[i], channel, at_ms, value);
                        for (size_t c = 0; c < CHANNELS; c++) {
                                int64_t begin_ms = model->newest * RESOLUTION_MS - 80 + pick(100);
                                check_stretches(&of, model, c, at_ms + pick(60));
                                check_between(&of, model, c, begin_ms, begin_ms + 1 + pick(50));
                        }
                }
                free(model);
                ring_done(&of);
        }
}
