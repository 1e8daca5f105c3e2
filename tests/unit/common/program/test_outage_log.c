/* Nodes that fail and recover, as they are logged: a few lines a minute, and then a sum. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "program/outage_log.h"
#include "tests/unit/fixture/log_pipe.h"

static const char sum[] = "more nodes failed or recovered in the last minute";

static void fail_nodes(struct outage_log *outages, int64_t now_mono_ms, size_t count) {
        for (size_t i = 0; i < count; i++)
                outage_log_failed(outages, &(bool){false}, now_mono_ms, "n", "http://n:9100",
                                  "timeout", "late");
}

static void recover_nodes(struct outage_log *outages, int64_t now_mono_ms, size_t count) {
        for (size_t i = 0; i < count; i++)
                outage_log_recovered(outages, &(bool){true}, now_mono_ms, "n");
}

TEST(lines) {
        struct outage_log outages = {.what = "scrape"};
        bool is_a_failing = false, is_b_failing = false;
        struct log_pipe log;

        log_pipe_begin(&log);
        outage_log_recovered(&outages, &is_a_failing, 1, "a");
        for (int i = 0; i < 2; i++) {
                outage_log_failed(&outages, &is_a_failing, 1, "a", NULL, "dns", "no such host");
                outage_log_failed(&outages, &is_b_failing, 1, "b", "http://b:9100", "timeout",
                                  "late");
        }
        for (int i = 0; i < 2; i++)
                outage_log_recovered(&outages, &is_a_failing, 2, "a");
        assert_int_equal(outages.failing, 1);
        outage_log_gone(&outages, &is_b_failing);
        outage_log_gone(&outages, &is_b_failing);
        assert_int_equal(outages.failing, 0);
        assert_int_equal(log_pipe_count(&log, "msg=\"node is failing\" what=scrape node=a "
                                              "reason=dns error=\"no such host\"\n"),
                         1);
        assert_int_equal(log_pipe_count(&log, "msg=\"node is failing\" what=scrape node=b "
                                              "url=http://b:9100 reason=timeout error=late\n"),
                         1);
        assert_int_equal(log_pipe_count(&log, "msg=\"node recovered\" what=scrape node=a\n"), 1);
        log_pipe_end(&log);
}

/* Whatever has no line of its own is in the sum of its minute, and in no other. */
TEST(sums) {
        static const struct {
                size_t failed, recovered, lines;
                const char *says; /* NULL: no sum */
        } rows[] = {
                {10, 0, 10, NULL},
                {0, 0, 0, NULL},
                {13, 0, 10, "what=scrape nodes=3 failing=23\n"},
                {0, 12, 10, "what=scrape nodes=2 failing=11\n"},
                {9, 5, 10, "what=scrape nodes=4 failing=15\n"},
                {11, 11, 10, "what=scrape nodes=12 failing=15\n"},
        };
        struct outage_log outages = {.what = "scrape"};
        struct log_pipe log;
        size_t lines = 0, sums = 0;

        log_pipe_begin(&log);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t now_mono_ms = (int64_t)(i + 1) * MS_PER_MIN;
                fail_nodes(&outages, now_mono_ms, rows[i].failed);
                recover_nodes(&outages, now_mono_ms, rows[i].recovered);
                outage_log_tick(&outages, now_mono_ms + MS_PER_MIN - 1);
                lines += rows[i].lines;
                assert_int_equal(log_pipe_count(&log, "msg=\"node "), lines);
                assert_int_equal(log_pipe_count(&log, sum), sums);
                outage_log_tick(&outages, now_mono_ms + MS_PER_MIN);
                outage_log_tick(&outages, now_mono_ms + MS_PER_MIN);
                sums += rows[i].says != NULL;
                assert_int_equal(log_pipe_count(&log, sum), sums);
                if (rows[i].says && log_pipe_count(&log, rows[i].says) != 1)
                        fail_msg("row %zu: %s", i, log.text.data);
        }
        log_pipe_end(&log);
}
