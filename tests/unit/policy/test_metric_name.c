/* Metric names as queries. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "policy/metric_name.h"

TEST(query) {
        static const struct {
                const char *name;
                struct metric_query query; /* window 0: no query */
        } rows[] = {
                {"cpu_usage_avg_5m", {METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN}},
                {"cpu_usage_max_avg_1h", {METRIC_CPU, METRIC_MAX, MS_PER_HOUR}},
                {"mem_usage_max_avg_1d", {METRIC_MEM, METRIC_MAX, MS_PER_DAY}},
                {"mem_usage_max_30s", {METRIC_MEM, METRIC_MAX, 30 * MS_PER_S}},
                {"net_usage_p50_15m", {METRIC_NET, METRIC_P50, 15 * MS_PER_MIN}},
                {"net_rx_usage_p90_1h", {METRIC_NET_RX, METRIC_P90, MS_PER_HOUR}},
                {"net_tx_usage_p95_1h", {METRIC_NET_TX, METRIC_P95, MS_PER_HOUR}},
                {"disk_usage_p99_2d", {METRIC_DISK, METRIC_P99, 2 * MS_PER_DAY}},
                {"load_usage_avg_5m", {METRIC_LOAD, METRIC_AVG, 5 * MS_PER_MIN}},
                {"fs_usage_avg_5m", {METRIC_FS, METRIC_AVG, 5 * MS_PER_MIN}},
                {"psi_cpu_usage_avg_5m", {METRIC_PSI_CPU, METRIC_AVG, 5 * MS_PER_MIN}},
                {"psi_mem_usage_avg_5m", {METRIC_PSI_MEM, METRIC_AVG, 5 * MS_PER_MIN}},
                {"psi_io_usage_avg_5m", {METRIC_PSI_IO, METRIC_AVG, 5 * MS_PER_MIN}},
                {"", {0}},
                {"cpu", {0}},
                {"cpu_usage", {0}},
                {"cpu_usage_", {0}},
                {"cpu_usage_avg", {0}},
                {"cpu_usage_avg_", {0}},
                {"cpu_usage_avg_5", {0}},
                {"cpu_usage_avg_m", {0}},
                {"cpu_usage_avg_0m", {0}},
                {"cpu_usage_avg_-5m", {0}},
                {"cpu_usage_avg_5w", {0}},
                {"cpu_usage_avg_5mm", {0}},
                {"cpu_usage_avg_1.5h", {0}},
                {"cpu_usage_avg_1h30m", {0}}, /* one number and one unit */
                {"cpu_usage_avg_5M", {0}},
                {"CPU_usage_avg_5m", {0}},
                {"cpu_usage_p42_5m", {0}},
                {"cpu_usage_max_avg", {0}}, /* "max" over a window "avg" */
                {"gpu_usage_avg_5m", {0}},  /* may still be delivered ready-made */
                {" cpu_usage_avg_5m", {0}},
                {"cpu_usage_avg_5m ", {0}},
                {"cpu_usage_avg_99999999999999999999d", {0}}, /* beyond 64 bits */
                {"cpu_usage_avg_999999999999999d", {0}},      /* beyond 64 bits in milliseconds */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct metric_query query = {METRIC_RESOURCE_COUNT, METRIC_P99, 42};
                bool ok = metric_query_parse(rows[i].name, &query);
                if (ok != (rows[i].query.window_ms > 0))
                        fail_msg("'%s' gave %d", rows[i].name, ok);
                if (!ok) {
                        assert_true(query.window_ms == 42); /* untouched on failure */
                        continue;
                }
                if (query.resource != rows[i].query.resource ||
                    query.statistic != rows[i].query.statistic ||
                    query.window_ms != rows[i].query.window_ms)
                        fail_msg("'%s' gave %d, %d, %lld", rows[i].name, (int)query.resource,
                                 (int)query.statistic, (long long)query.window_ms);
                /* The name begins with the resource's. */
                const char *resource = metric_resource_rows[query.resource].name;
                assert_memory_equal(rows[i].name, resource, strlen(resource));
        }
}

TEST(valid) {
        static const struct {
                const char *name;
                bool is_valid;
        } rows[] = {
                {"cpu_usage_avg_5m", true},
                {"a", true},
                {"GPU.duty-cycle_1m", true},
                {"123456789012345678901234567890123456789012345678901234567890123", true},
                {"1234567890123456789012345678901234567890123456789012345678901234", false},
                {"", false},
                {"_cpu", false}, /* begins and ends alphanumeric */
                {"cpu_", false},
                {"-", false},
                {"a b", false},
                {"example.com/cpu", false}, /* the prefix is an option's business */
                {"a,b", false},
                {"a\tb", false},
                {"\xc3\xbc", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (metric_name_is_valid(rows[i].name) != rows[i].is_valid)
                        fail_msg("'%s'", rows[i].name);
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
