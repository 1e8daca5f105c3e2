/* The line of a workload. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "policy/usage/workload_usage.h"
#include "tests/unit/fixture/rows.h"

#define LINE                                                                                       \
        "web/Deployment/shop pods=12 guaranteed=1 request=0.25/536870912 mean=0.113/201326592 "    \
        "spread=0.02/1e+07 p95=0.17/214958080 max=0.31/229638144 week=0.29/229638144 "             \
        "since=2026-11-29T07:00:00Z seen=2026-11-29T09:12:00Z weight=1584 "                        \
        "cpu=33:333,34:999 mem=39:999"

TEST(parse) {
        struct workload_usage_name name;
        struct workload_usage usage;
        struct error err = ERROR_NULL;

        assert_int_equal(workload_usage_parse(LINE, strlen(LINE), &name, &usage, &err), 0);
        assert_int_equal(name.len, strlen("web/Deployment/shop"));
        assert_memory_equal(name.text, "web/Deployment/shop", name.len);
        assert_int_equal(usage.pods, 12);
        assert_true(usage.is_guaranteed);
        assert_true(usage.request.of[ESTIMATE_CPU] == 0.25);
        assert_true(usage.mean.of[ESTIMATE_MEM] == 201326592);
        assert_true(usage.spread.of[ESTIMATE_MEM] == 1e7);
        assert_true(usage.p95.of[ESTIMATE_CPU] == 0.17);
        assert_true(usage.max.of[ESTIMATE_CPU] == 0.31);
        assert_true(usage.week_max.of[ESTIMATE_CPU] == 0.29);
        assert_int_equal(usage.seen_unix_ms - usage.since_unix_ms, 132 * 60000);
        assert_true(fabs((double)(usage_histogram_weight(&usage.histograms[ESTIMATE_CPU])) - 1584) <
                    0.01);
        assert_true(fabs((double)usage.histograms[ESTIMATE_CPU].weights[33] - 396) < 0.01);
        assert_true(fabs((double)usage.histograms[ESTIMATE_MEM].weights[39] - 1584) < 0.01);
}

static void show(const char *text, size_t len, struct buf *out) {
        struct workload_usage_name name = {NULL, 42};
        struct workload_usage usage = {.pods = 42};
        struct error err = ERROR_NULL;

        if (workload_usage_parse(text, len, &name, &usage, &err) < 0)
                assert_true(name.len == 42 && usage.pods == 42);
        buf_puts(out, err.msg);
}

TEST(odd_lines) {
        rows_check("workload-lines.tsv", show);
}

TEST(names) {
        char longest[WORKLOAD_USAGE_NAME_MAX + 1];

        memset(longest, 'x', sizeof(longest));
        assert_true(workload_usage_is_name(longest, WORKLOAD_USAGE_NAME_MAX));
        assert_false(workload_usage_is_name(longest, sizeof(longest)));
        assert_false(workload_usage_is_name("", 0));
        assert_false(workload_usage_is_name("a/Odd Kind/b", 12));
        assert_false(workload_usage_is_name("a/K/b\n", 6));
}

/* The longest line can be read, and says the same. */
TEST(format) {
        struct workload_usage usage = {.pods = 150000, .weight = 123456, .is_guaranteed = true},
                              got;
        struct workload_usage_name name;
        struct error err = ERROR_NULL;
        struct buf out = BUF_INIT(8192);
        char longest[WORKLOAD_USAGE_NAME_MAX];
        struct pod_load *loads[] = {&usage.request, &usage.mean, &usage.spread,
                                    &usage.p95,     &usage.max,  &usage.week_max};

        memset(longest, 'x', sizeof(longest));
        for (size_t i = 0; i < ARRAY_LEN(loads); i++)
                *loads[i] = (struct pod_load){{1234.5678e-7, 1.2345678e13}};
        for (size_t i = 0; i < USAGE_BUCKETS; i++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        usage.histograms[r].weights[i] = (float)(900 + i);
        workload_usage_format(&usage, longest, sizeof(longest), &out);
        assert_in_range(out.len, 1, 2400);
        assert_int_equal(workload_usage_parse(out.data, out.len - 1, &name, &got, &err), 0);
        assert_int_equal(got.pods, usage.pods);
        assert_true(got.is_guaranteed);
        assert_true(fabs((double)got.week_max.of[ESTIMATE_MEM] / 1.2345678e13 - 1) < 1e-3);
        assert_true(fabs((double)(usage_histogram_weight(&got.histograms[ESTIMATE_CPU]) / 123456) -
                         1) < 1e-3);
        buf_done(&out);
}

TEST(shards) {
        char text[WORKLOADS_CONFIG_MAP_MAX];

        assert_int_equal(workload_usage_shard("a/b/c", 5, 1), 0);
        assert_in_range(workload_usage_shard("a/b/c", 5, 8), 0, 7);
        workload_usage_config_map(0, text);
        assert_string_equal(text, "plimsoll-workloads");
        workload_usage_config_map(7, text);
        assert_string_equal(text, "plimsoll-workloads-7");
}

TEST(count_of_shards) {
        static const struct {
                const char *text;
                size_t shards;
        } rows[] = {{NULL, 1}, {"0", 1}, {"x", 1}, {"-1", 1}, {"3", 3}, {"8", 8}, {"9", 8}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(workload_usage_shards(rows[i].text), rows[i].shards);
}
