/* Which of a server's samples is believed, and for how long. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "controller/source/metrics_api/metrics_api_sample.h"

#define START_UNIX_MS INT64_C(1784805954000)

/* At @at_s of a clock that both sides share, at the latest one's arrival. */
static struct metrics_api_sample_time at(int64_t at_s) {
        return (struct metrics_api_sample_time){.now_mono_ms = 5000 + at_s * MS_PER_S,
                                                .now_unix_ms = START_UNIX_MS + at_s * MS_PER_S,
                                                .interval_ms = 15 * MS_PER_S};
}

static struct metrics_api_item taken(int64_t at_s, int64_t window_s) {
        return (struct metrics_api_item){.has_cpu = true,
                                         .cpu_cores = (double)at_s,
                                         .at_unix_ms = START_UNIX_MS + at_s * MS_PER_S,
                                         .window_ms = window_s * MS_PER_S};
}

TEST(rows) {
        /* A server is asked at ask_s and says so; then, is the node measured, and by which? */
        static const struct {
                struct {
                        int64_t ask_s, taken_s, window_s;
                        bool is_new, is_stale;
                        int64_t kept_s;
                } steps[6];
        } rows[] = {
                {{{0, -5, 15, true, false, -5}, {15, 10, 15, true, false, 10}}},
                /* one a minute, asked four times as often */
                {{{0, -5, 60, true, false, -5},
                  {15, -5, 60, false, false, -5},
                  {60, 55, 60, true, false, 55}}},
                /* the server has stopped: 60 s with a window of 15 s, 135 s with one of 60 s */
                {{{0, -5, 15, true, false, -5},
                  {60, -5, 15, false, false, -5},
                  {61, -5, 15, false, true, -5},
                  {75, 70, 15, true, false, 70}}},
                {{{0, -5, 60, true, false, -5},
                  {135, -5, 60, false, false, -5},
                  {136, -5, 60, false, true, -5}}},
                /* had stopped before we came */
                {{{0, -120, 15, true, false, -120}}}, /* may be a clock that disagrees */
                {{{0, -121, 15, true, true, -121}, {15, -121, 15, false, true, -121}}},
                /* a clock a minute behind, and one that is further behind than we can believe */
                {{{0, -65, 15, true, false, -65}, {15, -50, 15, true, false, -50}}},
                {{{0, -200, 15, true, true, -200}, {15, -185, 15, true, true, -185}}},
                /* a clock that is ahead: as good as any while it moves */
                {{{0, 3600, 15, true, false, 3600},
                  {15, 3615, 15, true, false, 3615},
                  {75, 3615, 15, false, false, 3615},
                  {76, 3615, 15, false, true, 3615}}},
                /* and that is set right */
                {{{0, 3600, 15, true, false, 3600},
                  {15, 10, 15, false, false, 3600},
                  {60, 55, 15, false, false, 3600},
                  {75, 70, 15, true, false, 70}}},
                /* two servers in turn */
                {{{0, -5, 15, true, false, -5},
                  {15, -10, 15, false, false, -5},
                  {30, 25, 15, true, false, 25},
                  {45, 20, 15, false, false, 25}}},
                /* two that have both stopped: seen by the clock */
                {{{0, -5, 15, true, false, -5},
                  {61, -10, 15, true, false, -10},
                  {76, -5, 15, true, false, -5},
                  {137, -10, 15, true, true, -10},
                  {152, -5, 15, true, true, -5}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct metrics_api_sample sample = {.is_there = false};
                for (size_t j = 0; rows[i].steps[j].window_s > 0; j++) {
                        struct metrics_api_sample_time now = at(rows[i].steps[j].ask_s);
                        struct metrics_api_item metrics = taken(rows[i].steps[j].taken_s,
                                                                rows[i].steps[j].window_s);
                        bool is_new = metrics_api_sample_offer(&sample, &metrics, &now);
                        bool is_stale = metrics_api_sample_is_stale(&sample, &now);
                        if (is_new != rows[i].steps[j].is_new ||
                            is_stale != rows[i].steps[j].is_stale ||
                            sample.metrics.cpu_cores != (double)rows[i].steps[j].kept_s)
                                fail_msg("row %zu, step %zu: %d, %d, %g", i, j, is_new, is_stale,
                                         sample.metrics.cpu_cores);
                }
        }
}

TEST(none) {
        struct metrics_api_sample none = {.is_there = false};
        struct metrics_api_sample_time now = at(0);

        assert_true(metrics_api_sample_is_stale(&none, &now));
}

/* Our own wall clock may jump: what was seen just now stays as fresh as that allows. */
TEST(our_clock_jumps) {
        struct metrics_api_sample sample = {.is_there = false};
        struct metrics_api_sample_time now = at(0);
        struct metrics_api_item metrics = taken(-5, 15);

        assert_true(metrics_api_sample_offer(&sample, &metrics, &now));
        now.now_unix_ms -= 3600 * MS_PER_S; /* back: the sample is in the future now */
        assert_false(metrics_api_sample_is_stale(&sample, &now));
        now.now_mono_ms += 61 * MS_PER_S;
        assert_true(metrics_api_sample_is_stale(&sample, &now));
}
