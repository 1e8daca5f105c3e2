/* The series of nodes on the /metrics page: what is there, what goes, and the page that is full. */
#include "tests/unit/fixture/policy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/series/node_series.h"

enum { PAGE_MAX = 1 << 20, MANY = 500, READS = 500 };

static struct policy *parse(const char *spec) {
        char text[2048];

        snprintf(text, sizeof(text),
                 "  syncPolicy:\n"
                 "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                 "  - {name: mem_usage_avg_5m, period: 3m}\n"
                 "  - {name: disk_usage_avg_5m, period: 3m}\n"
                 "  - {name: net_usage_avg_5m, period: 3m}\n"
                 "%s",
                 spec);
        return policy_of(text);
}

static const char limits[] = "  predicate:\n"
                             "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.65}\n"
                             "  - {name: mem_usage_avg_5m, maxLimitPecent: 0}\n"
                             "  priority:\n"
                             "  - {name: cpu_usage_avg_5m, weight: 1}\n"
                             "  - {name: mem_usage_avg_5m, weight: 0.5}\n";

/* The page's lines that are about nodes, without comments. */
static char *series(const struct metrics *metrics) {
        struct buf page = BUF_INIT(PAGE_MAX), out = BUF_INIT(PAGE_MAX);

        metrics_render(metrics, &page);
        assert_false(page.overflow);
        char *rest = page.data;
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
                if (strncmp(line, "plimsoll_node_", 14) == 0 && !strstr(line, "left_out"))
                        buf_printf(&out, "%s\n", line + 14);
        buf_done(&page);
        return buf_take(&out);
}

static void expect(const struct metrics *metrics, const char *text) {
        _cleanup_(freep) char *found = series(metrics);

        assert_string_equal(found, text);
}

TEST(what_is_shown) {
        _cleanup_(policy_freep) struct policy *policy = parse(limits);
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        struct plan_values values = {.usable = 3, .ratio = {0.25, 1.0 / 3, 0.9}};

        expect(metrics, "limit_ratio{metric=\"cpu_usage_avg_5m\"} 0.65\n");
        node_series_keep(nodes, 3, "a\"b\\", &values);
        expect(metrics, "limit_ratio{metric=\"cpu_usage_avg_5m\"} 0.65\n"
                        "usage_ratio{node=\"a\\\"b\\\\\",metric=\"cpu_usage_avg_5m\"} 0.25\n"
                        "usage_ratio{node=\"a\\\"b\\\\\",metric=\"mem_usage_avg_5m\"} 0.33333\n");
        values.usable = 1;
        values.has_hot = true;
        values.hot = 2;
        node_series_keep(nodes, 3, "a\"b\\", &values);
        expect(metrics, "limit_ratio{metric=\"cpu_usage_avg_5m\"} 0.65\n"
                        "usage_ratio{node=\"a\\\"b\\\\\",metric=\"cpu_usage_avg_5m\"} 0.25\n"
                        "hot_value{node=\"a\\\"b\\\\\"} 2\n");
}

/* Limits of a pool, and the nodes in it, have its number. */
TEST(pools) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                "  predicate:\n"
                "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.65}\n"
                "  pools:\n"
                "  - nodeSelector: {pool: strict}\n"
                "    predicate:\n"
                "    - {name: cpu_usage_avg_5m, maxLimitPecent: 0.2}\n"
                "    - {name: mem_usage_avg_5m, maxLimitPecent: 0.5}\n"
                "  - {nodeSelector: {pool: free}, predicate: []}\n");
        static const char all_limits[] =
                "limit_ratio{metric=\"cpu_usage_avg_5m\"} 0.65\n"
                "limit_ratio{metric=\"cpu_usage_avg_5m\",pool=\"1\"} 0.2\n"
                "limit_ratio{metric=\"mem_usage_avg_5m\",pool=\"1\"} 0.5\n";
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        struct plan_values values = {.usable = 1, .ratio = {0.25}, .pool = 1};
        char text[512];

        node_series_keep(nodes, 0, "a", &values);
        snprintf(text, sizeof(text), "%s%s", all_limits,
                 "usage_ratio{node=\"a\",metric=\"cpu_usage_avg_5m\",pool=\"1\"} 0.25\n");
        expect(metrics, text);
        values.pool = 0;
        node_series_keep(nodes, 0, "a", &values);
        snprintf(text, sizeof(text), "%s%s", all_limits,
                 "usage_ratio{node=\"a\",metric=\"cpu_usage_avg_5m\"} 0.25\n");
        expect(metrics, text);
}

TEST(nodes_and_policies_change) {
        _cleanup_(policy_freep) struct policy *policy = parse(""), *other = parse(limits);
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        const struct plan_values values = {.usable = 1, .ratio = {0.5}};

        node_series_keep(nodes, 0, "a", &values);
        expect(metrics, "usage_ratio{node=\"a\",metric=\"cpu_usage_avg_5m\"} 0.5\n");
        node_series_drop(nodes, 0);
        node_series_drop(nodes, 99); /* was never kept */
        node_series_keep(nodes, 40, "b", &values);
        expect(metrics, "usage_ratio{node=\"b\",metric=\"cpu_usage_avg_5m\"} 0.5\n");
        node_series_set_policy(nodes, other);
        expect(metrics, "limit_ratio{metric=\"cpu_usage_avg_5m\"} 0.65\n");
}

/* By the built-in policy, each in a pool and with a long name. */
TEST(a_hundred_thousand_nodes) {
        enum { NODES = 100000, SAMPLE = 100 };
        _cleanup_(policy_freep) struct policy *policy = policy_default();
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        struct plan_values values = {.has_hot = true, .pool = 1};
        _cleanup_(buf_done) struct buf page = BUF_INIT(PAGE_MAX);

        for (size_t i = 0; i < policy->metric_count; i++) {
                values.usable |= UINT64_C(1) << i;
                values.ratio[i] = 0.012345;
        }
        for (size_t i = 0; i < SAMPLE; i++)
                node_series_keep(nodes, i, "ip-10-100-100-100.ap-southeast-2.compute.internal",
                                 &values);
        metrics_render(metrics, &page);
        assert_non_null(strstr(page.data, "0.012345"));
        assert_true(page.len < METRICS_MAX_BYTES / (NODES / SAMPLE));
}

/* The rest of the page is served all the same. */
TEST(a_page_that_is_full) {
        _cleanup_(policy_freep) struct policy *policy = parse("");
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        const struct plan_values values = {.usable = 7};
        struct buf whole = BUF_INIT(PAGE_MAX);

        metrics_render(metrics, &whole);
        struct buf out = BUF_INIT(whole.len + 1000);
        buf_done(&whole);
        for (size_t i = 0; i < MANY; i++)
                node_series_keep(nodes, i, "a-node-with-a-name", &values);
        metrics_render(metrics, &out);
        assert_false(out.overflow);
        assert_int_equal(strlen(out.data), out.len);
        assert_null(strstr(out.data, "usage_ratio"));
        buf_done(&out);
        struct buf too_small = BUF_INIT(16);
        metrics_render(metrics, &too_small);
        assert_true(too_small.overflow);
        buf_done(&too_small);
        _cleanup_(freep) char *found = series(metrics);
        assert_non_null(strstr(found, "a-node-with-a-name"));
        _cleanup_(buf_done) struct buf again = BUF_INIT(PAGE_MAX);
        metrics_render(metrics, &again);
        assert_non_null(strstr(again.data, "plimsoll_node_metrics_left_out_total 1\n"));
}

struct reader {
        const struct metrics *metrics;
        atomic_bool is_done;
        atomic_int reads;
};

static void *keep_reading(void *userdata) {
        struct reader *reader = userdata;

        while (!atomic_load(&reader->is_done)) {
                char *found = series(reader->metrics);
                free(found);
                atomic_fetch_add(&reader->reads, 1);
        }
        return NULL;
}

/* Under ThreadSanitizer and AddressSanitizer: pages are rendered while rows come and go. */
TEST(rows_come_and_go) {
        _cleanup_(policy_freep) struct policy *policy = parse(limits);
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(node_series_freep) struct node_series *nodes = node_series_new(metrics, policy);
        struct reader reader = {.metrics = metrics};
        struct plan_values values = {.usable = 7};
        pthread_t thread;

        node_series_keep(nodes, 0, "a", &values);
        assert_int_equal(pthread_create(&thread, NULL, keep_reading, &reader), 0);
        for (int i = 0; i < MANY || atomic_load(&reader.reads) < READS; i++) {
                char name[] = "a";
                values.ratio[0] = i % MANY / (double)MANY;
                node_series_keep(nodes, (size_t)i % MANY, name, &values);
                if (i % 7 == 0)
                        node_series_set_policy(nodes, policy);
                node_series_drop(nodes, (size_t)i % MANY);
        }
        atomic_store(&reader.is_done, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
}
