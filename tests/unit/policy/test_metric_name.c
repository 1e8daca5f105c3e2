/* Metric names as queries. */
#include "tests/unit/fixture/test.h"

#include "policy/metric_name.h"
#include "tests/unit/fixture/rows.h"

static void show_query(const char *text, size_t len, struct buf *out) {
        static const char *const statistics[] = {"avg", "max", "p50", "p90", "p95", "p99"};
        struct metric_query query = {METRIC_RESOURCE_COUNT, METRIC_P99, 42};

        if (metric_query_parse(text, &query))
                buf_printf(out, "%s %s %lld", metric_resource_rows[query.resource].name,
                           statistics[query.statistic], (long long)query.window_ms);
        else
                buf_puts(out, query.window_ms == 42 ? "-" : "changed");
}

TEST(query) {
        rows_check("metric-queries.tsv", show_query);
}

static void show_validity(const char *text, size_t len, struct buf *out) {
        buf_puts(out, metric_name_is_valid(text) ? "valid" : "-");
}

TEST(valid) {
        rows_check("metric-names.tsv", show_validity);
}

TEST(offer) {
#define ZEROS_48 "000000000000000000000000000000000000000000000000"
        static const struct {
                const char *resource, *word, *meant; /* NULL: nothing is near enough */
        } rows[] = {
                {"cpu", "cpu_usage_agv_5m", "cpu_usage_avg_5m"},
                {"cpu", "cpu_usage_agv15m", "cpu_usage_avg_15m"},
                {"cpu", "cpu_usage_agv-15m", "cpu_usage_avg_15m"},
                {"cpu", "cpu_usage_avg", "cpu_usage_avg_5m"},
                {"cpu", "c", NULL},
                {"cpu", "x", NULL},
                {"cpu", "gpu_usage_agv_5m", NULL},
                /* The longest name, and one byte more. */
                {"me", "me_usage_agv_" ZEROS_48 "5m", "me_usage_avg_" ZEROS_48 "5m"},
                {"mem", "mem_usage_av_" ZEROS_48 "5m", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char meant[METRIC_NAME_MAX + 1];
                struct nearest nearest = NEAREST_TO(rows[i].word);
                metric_query_offer(rows[i].resource, &nearest, meant);
                if (!nearest.candidate != !rows[i].meant ||
                    (rows[i].meant && strcmp(nearest.candidate, rows[i].meant) != 0))
                        fail_msg("%s: %s", rows[i].word,
                                 nearest.candidate ? nearest.candidate : "nothing");
        }
}
