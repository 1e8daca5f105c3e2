/* What a dry run prints of a node. */
#include "tests/unit/fixture/compiled_policy.h"

#include <stdlib.h>

#include "base/clock.h"
#include "controller/print/printout.h"

/* 2026-07-23T11:25:54Z */
static const int64_t now_unix_ms = INT64_C(1784805954000);
static const int64_t now_mono_ms = INT64_C(5000000);

static const char spec[] = "  syncPolicy:\n"
                           "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                           "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                           "  - {name: gpu_busy, period: 3m}\n";

static void expect_row(const struct compiled_policy *compiled, enum printout_format format,
                       const struct printout_row *row, const char *expected) {
        struct printout printout;
        char *text = NULL;
        size_t len = 0;
        FILE *file = open_memstream(&text, &len);

        assert_non_null(file);
        printout_begin(&printout, compiled, format, false);
        printout.style = (struct style){"", "", "", "", "", "", false, SIZE_MAX};
        if (row)
                printout_add(&printout, row);
        assert_true(printout_end(&printout, file));
        assert_int_equal(fclose(file), 0);
        assert_string_equal(text, expected);
        free(text);
}

TEST(rows) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = compiled_policy_of(
                spec, 15 * MS_PER_S);
        struct node_track track;
        struct plan_values values = {0};

        node_track_init(&track, compiled, now_mono_ms - 15000);
        for (int64_t at_mono_ms = now_mono_ms - 15000; at_mono_ms <= now_mono_ms;
             at_mono_ms += 15000) {
                struct window_step step = {.at_mono_ms = at_mono_ms,
                                           .counters = 1u << METRIC_CPU,
                                           .num = {[METRIC_CPU] = 6},
                                           .den = {[METRIC_CPU] = 15}};
                node_track_reading(&track, 0, &(struct source_reading){.step = &step}, at_mono_ms);
        }
        node_track_values(&track, now_mono_ms, &values);
        values.has_hot = true;
        values.hot = 3;
        const struct printout_row row = {.node = "web-1",
                                         .track = &track,
                                         .values = &values,
                                         .now_mono_ms = now_mono_ms,
                                         .now_unix_ms = now_unix_ms};
        expect_row(
                compiled, PRINTOUT_TABLE, &row,
                "NODE   cpu avg_5m  cpu max_avg_1h  gpu_busy  recent    age  state\n"
                "web-1       40.0%           40.0%         -       3   0.0s  the exporter has no "
                "such gauge\n");
        node_track_failed(&track, 0, "connect");
        expect_row(compiled, PRINTOUT_JSON, &row,
                   "{\"at\":\"2026-07-23T11:25:54.000Z\",\"node\":\"web-1\",\"annotations\":{"
                   "\"cpu_usage_avg_5m\":\"0.40000,2026-07-23T11:25:54Z\","
                   "\"cpu_usage_max_avg_1h\":\"0.40000,2026-07-23T11:25:54Z\","
                   "\"cpu_usage_max_avg_1h_peak\":\"0.00000,2026-07-23T11:25:54Z\","
                   "\"node_hot_value\":\"3,2026-07-23T11:25:54Z\","
                   "\"node_covered_seconds\":\"15,2026-07-23T11:25:54Z\"},"
                   "\"unusable\":{\"gpu_busy\":\"the exporter has no such gauge\"},"
                   "\"ageSeconds\":0.000,\"failure\":\"connect\"}\n");
        node_track_done(&track);
        expect_row(compiled, PRINTOUT_JSON, NULL, "");
}
