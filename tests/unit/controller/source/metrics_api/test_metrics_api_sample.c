/* Which of a server's samples is believed, and for how long. */
#include "tests/unit/fixture/rows.h"

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
        struct metrics_api_sample sample = {.is_there = false};

        for (struct rows rows = rows_open("metrics-samples.tsv"); rows_next(&rows);) {
                int64_t of[3], kept_s = strtol(rows.cells[4], NULL, 10);

                if (strcmp(rows.cells[0], "-") == 0) {
                        sample = (struct metrics_api_sample){.is_there = false};
                        continue;
                }
                for (size_t i = 0; i < ARRAY_LEN(of); i++)
                        of[i] = strtol(rows.cells[i], NULL, 10);
                struct metrics_api_sample_time now = at(of[0]);
                struct metrics_api_item metrics = taken(of[1], of[2]);
                bool is_new = metrics_api_sample_offer(&sample, &metrics, &now);
                bool is_stale = metrics_api_sample_is_stale(&sample, &now);
                if (is_new != !!strstr(rows.cells[3], "new") ||
                    is_stale != !!strstr(rows.cells[3], "stale") ||
                    sample.metrics.cpu_cores != (double)kept_s)
                        fail_msg("%s: %d, %d, %g", rows.place, is_new, is_stale,
                                 sample.metrics.cpu_cores);
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
