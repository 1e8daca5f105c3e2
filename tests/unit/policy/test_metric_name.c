/* Metric names as queries. */
#include "tests/unit/fixture/test.h"

#include "policy/policy.h"
#include "tests/unit/fixture/rows.h"

static const struct policy no_resources;

static void show_query(const char *text, size_t len, struct buf *out) {
        static const char *const statistics[] = {"avg", "max", "p50", "p90", "p95", "p99"};
        struct metric_query query = {METRIC_RESOURCE_COUNT, METRIC_P99, 42};

        if (policy_query_parse(&no_resources, text, &query))
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
        for (struct rows rows = rows_open("metric-offers.tsv"); rows_next(&rows);) {
                char meant[METRIC_NAME_MAX + 1];
                struct nearest nearest = NEAREST_TO(rows.cells[1]);
                metric_query_offer(rows.cells[0], &nearest, meant);
                const char *found = nearest.candidate ? nearest.candidate : "-";
                if (strcmp(found, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, found);
        }
}
