/* What a node offers of its idle CPU: by example, and what is true of any values. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "controller/track/idle_offer.h"

enum { MEAN_5M, PEAK, MEAN_2M };

static struct policy policy = {
        .metric_count = 3,
        .metrics = {{.is_query = true, .query = {METRIC_CPU, METRIC_AVG, 300000}},
                    {.is_query = true, .query = {METRIC_CPU, METRIC_MAX, 3600000}},
                    {.is_query = true, .query = {METRIC_CPU, METRIC_AVG, 120000}}},
        .idle_line_ratio = 0.65,
        .idle_peak = PEAK,
};

static struct idle_offer offer_of(uint64_t usable, double peak_ratio, double mean_ratio,
                                  double cores) {
        const struct plan_values values = {.usable = usable,
                                           .ratio = {[PEAK] = peak_ratio, [MEAN_2M] = mean_ratio}};

        return idle_offer_of(&policy, &values, cores);
}

TEST(room) {
        static const struct {
                uint64_t usable;
                double peak_ratio, mean_ratio, cores;
                int64_t room_milli;
        } rows[] = {
                {7, 0.25, 0.2, 16, 6400},
                {7, 0.25, 0.35, 16, 4800}, /* it is busier now than it was at its peak */
                {3, 0.25, 0.35, 16, 6400}, /* nothing is known of now */
                {7, 0.65, 0, 16, 0},       /* on the line, */
                {7, 1, 1, 16, 0},          /* and above it */
                {5, 0.25, 0.2, 16, -1},    /* without its peak */
                {0, 0.25, 0.2, 16, -1},
                {7, 0.25, 0.2, 0, -1}, /* without its capacity */
                {7, 0.25, 0.2, NAN, -1},
                {7, 0, 0, 4, 2600},
                {7, 0.0001, 0, 4, 2560},     /* in hundredths of the node */
                {7, 0, 0, 0.05, 32},         /* or thousandths of a CPU */
                {7, 0, 0, 1e300, 650000000}, /* no node has so many */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct idle_offer offer = offer_of(rows[i].usable, rows[i].peak_ratio,
                                                   rows[i].mean_ratio, rows[i].cores);
                if (offer.room_milli != rows[i].room_milli)
                        fail_msg("row %zu: %lld", i, (long long)offer.room_milli);
        }
}

/* A mean of the first seconds is none: the peak that is remembered from before counts. */
TEST(partial_mean) {
        struct plan_values values = {.usable = 7,
                                     .provisional = 1u << MEAN_2M,
                                     .ratio = {[PEAK] = 0.25, [MEAN_2M] = 0.9}};

        assert_int_equal(idle_offer_of(&policy, &values, 16).room_milli, 6400);
        values.provisional = 1u << MEAN_5M;
        assert_int_equal(idle_offer_of(&policy, &values, 16).room_milli, 0);
}

/* Without spec.idle nothing is offered, whatever is known. */
TEST(off) {
        const struct policy none = {.metric_count = 1, .metrics = {{.name = "x"}}};
        const struct plan_values values = {.usable = 1, .ratio = {0.1}};

        assert_int_equal(idle_offer_of(&none, &values, 16).room_milli, IDLE_OFFER_NONE);
}

TEST(rise_and_fall) {
        static const struct {
                int64_t now_milli;
                bool may_rise;
                int64_t taken_milli, next_milli;
        } rows[] = {
                {-1, true, 0, 2080},       {0, true, 0, 2080},      {0, false, 0, 0},
                {-1, false, 0, 0},         {2080, true, 0, 4160},   {5000, true, 0, 6400},
                {6400, true, 6400, 6400},  {6400, false, 0, 6400},  {9000, true, 0, 6400},
                {9000, false, 6400, 6400}, {9000, false, 6401, -1}, /* more is taken than is left */
                {-1, true, 6401, -1},      {0, true, 3000, -1}, /* pods that came before the offer
                                                                   was known here */
                {-1, false, 3000, 3000},   {-1, true, 3000, 5080},  {-1, true, 6000, 6400},
        };
        struct idle_offer offer = offer_of(7, 0.25, 0.2, 16);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t next_milli = idle_offer_next(&offer, rows[i].now_milli, rows[i].may_rise,
                                                     rows[i].taken_milli);
                if (next_milli != rows[i].next_milli)
                        fail_msg("row %zu: %lld", i, (long long)next_milli);
        }
}

/* It is taken away when nothing is known. */
TEST(unknown) {
        struct idle_offer unknown = offer_of(0, 0, 0, 16);

        assert_int_equal(idle_offer_next(&unknown, 3200, true, 3200), IDLE_OFFER_NONE);
        assert_int_equal(idle_offer_next(&unknown, IDLE_OFFER_NONE, false, 0), IDLE_OFFER_NONE);
}

/* Services and batch together stay below the line; a rise is an eighth of the node and a step; an
 * offer has room for what is taken. */
TEST(any_values) {
        unsigned short seed[3] = {1, 2, 3};

        for (int round = 0; round < 100000; round++) {
                double cores = erand48(seed) * 200, peak_ratio = erand48(seed);
                double mean_ratio = erand48(seed);
                struct idle_offer offer = offer_of(7, peak_ratio, mean_ratio, cores);
                int64_t now_milli = (int64_t)(erand48(seed) * cores * 1000);
                int64_t taken_milli = (int64_t)(erand48(seed) * (double)now_milli);
                int64_t next_milli = idle_offer_next(&offer, now_milli, true, taken_milli);
                double used_ratio = fmax(peak_ratio, mean_ratio);
                assert_true(next_milli >= taken_milli || next_milli == IDLE_OFFER_NONE);
                assert_true((double)next_milli <= fmax(0, 0.65 - used_ratio) * cores * 1000);
                assert_true((double)(next_milli - now_milli) <= cores * 1000 * (0.125 + 0.01) + 1);
        }
}
