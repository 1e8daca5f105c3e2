/* What metrics are called in PromQL. That Prometheus takes it is shown with the real one, in
 * tests/integration/test_controller_source_prometheus_real.py. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "controller/source/prometheus/promql.h"
#include "tests/unit/fixture/rows.h"

/* With two resources of its own. */
static const struct policy policy = {
        .resource_count = 2,
        .resources = {{.name = "gpu",
                       .series = "DCGM_FI_DEV_GPU_UTIL",
                       .type = POLICY_GAUGE,
                       .reduce = POLICY_REDUCE_MAX,
                       .match_count = 2,
                       .matches = {{"modelName", "A\\100"}, {"pci", "\"x\""}},
                       .capacity = 100},
                      {.name = "ops",
                       .series = "disk_ops_total",
                       .type = POLICY_COUNTER,
                       .reduce = POLICY_REDUCE_SUM,
                       .capacity_series = "disk_ops_limit"}},
};

static const struct node_network_options physical;
static const struct promql promql = {.policy = &policy, .network = &physical};

static const char *now(struct buf *out, const char *name) {
        struct metric_query query;

        buf_clear(out);
        promql_now(&promql, name, policy_query_parse(&policy, name, &query) ? &query : NULL, out);
        return out->data;
}

#define GUARD " unless on (instance) (up == 0 unless on (instance) up == 1)"

static void show(const char *text, size_t len, struct buf *out) {
        (void)now(out, text);
}

TEST(now) {
        rows_check("promql.tsv", show);
}

/* Every resource has a formula, with the window in each range and nothing left to fill in. */
TEST(every_resource) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(PROMQL_MAX_BYTES);

        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++) {
                _cleanup_(freep) char *name = xasprintf("%s_usage_avg_3m",
                                                        metric_resource_rows[r].name);
                assert_non_null(strstr(now(&out, name), "[3m]"));
                assert_non_null(strstr(out.data, ") and on (instance) node_"));
                assert_null(strstr(out.data, "$"));
        }
}

/* The operator's devices and speed; a pattern cannot break out of its string. */
TEST(network) {
        const struct node_network_options rules = {
                .devices = {.count = 2, .globs = {"Eth?.*", "a\"}[1s])"}},
                .speed_bytes = 1.25e8,
        };
        const struct promql named = {.policy = &policy, .network = &rules};
        const struct metric_query query = {METRIC_NET_TX, METRIC_AVG, 300000};
        _cleanup_(buf_done) struct buf out = BUF_INIT(PROMQL_MAX_BYTES);

        promql_now(&named, "net_tx_usage_avg_5m", &query, &out);
        assert_string_equal(
                out.data,
                "({__name__=\"net_tx_usage_avg_5m\"} or on (instance) ((max without (device) ("
                "rate(node_network_transmit_bytes_total{device=~\"Eth...*|a...1s..\"}[5m]) / "
                "(node_network_speed_bytes > 0 != 1250000 != 8191875000 != 536870911875000 or "
                "node_network_carrier * 0 + 125000000) and "
                "node_network_carrier == 1) / rate(node_time_seconds[5m])) and on (instance) "
                "node_network_carrier))" GUARD);
        assert_non_null(strstr(now(&out, "net_usage_avg_5m"), "{device!~\"lo|veth.*|docker.*|"));
        assert_non_null(strstr(out.data, "node_network_iface_id == node_network_iface_link"));
        assert_non_null(strstr(out.data, " unless node_network_name_assign_type == 3, "));
}

/* How many series of @query are without @selector: outside of quotes, each has braces that begin
 * with it. */
static int unselected(const char *query, const char *selector) {
        _cleanup_(freep) char *inside = xasprintf("{%s", selector);
        bool is_quoted = false;
        int count = 0;

        for (const char *c = query; *c; c++) {
                is_quoted ^= *c == '"' && (c == query || c[-1] != '\\');
                bool is_name = !is_quoted &&
                               (strncmp(c, "node_", 5) == 0 || strncmp(c, "up ", 3) == 0 ||
                                strncmp(c, "up{", 3) == 0);
                if (is_name)
                        c += strcspn(c, "{[) ");
                if (is_name || (!is_quoted && *c == '{'))
                        count += strncmp(c, inside, strlen(inside)) != 0;
        }
        return count;
}

/* No series of another cluster can get into any query, not even by a target that is down there. */
TEST(selector) {
        static const char selector[] = "cluster=\"a\",env!=\"b{\\\"\"";
        const struct promql of_cluster = {
                .policy = &policy, .network = &physical, .selector = selector};
        _cleanup_(buf_done) struct buf out = BUF_INIT(PROMQL_MAX_BYTES);
        static const char *const names[] = {"gpu_usage_avg_5m", "ops_usage_avg_5m",
                                            "cpu_usage_max_avg_1d", "gpu.busy-share"};
        struct metric_query query;

        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT + ARRAY_LEN(names); r++) {
                _cleanup_(freep) char *name = r < METRIC_RESOURCE_COUNT
                                                      ? xasprintf("%s_usage_avg_5m",
                                                                  metric_resource_rows[r].name)
                                                      : xstrdup(names[r - METRIC_RESOURCE_COUNT]);
                bool is_query = policy_query_parse(&policy, name, &query);
                assert_true(unselected(now(&out, name), selector) >= 3);
                buf_clear(&out);
                promql_now(&of_cluster, name, is_query ? &query : NULL, &out);
                if (unselected(out.data, selector) != 0)
                        fail_msg("%s", out.data);
        }
        assert_string_equal(
                out.data, "({cluster=\"a\",env!=\"b{\\\"\",__name__=\"gpu.busy-share\"}) unless on "
                          "(instance) (up{cluster=\"a\",env!=\"b{\\\"\"} == 0 unless on (instance) "
                          "up{cluster=\"a\",env!=\"b{\\\"\"} == 1)");
}

static void fill(char *text, size_t size, char c) {
        memset(text, c, size - 1);
        text[size - 1] = '\0';
}

/* The longest that a policy and its operator can ask for fits. */
TEST(longest) {
        static struct policy longest = {.resource_count = 1};
        static struct node_network_options rules = {.devices.count = GLOB_LIST_MAX,
                                                    .speed_bytes = 1.2345678901234567e300};
        static char selector[PROMQL_SELECTOR_MAX_BYTES + 1];
        const struct promql asks = {.policy = &longest, .network = &rules, .selector = selector};
        struct policy_resource *metric = &longest.resources[0];
        const unsigned resources[] = {METRIC_NET, METRIC_RESOURCE_COUNT};
        char name[METRIC_NAME_MAX + 1];

        fill(name, sizeof(name), 'n');
        fill(selector, sizeof(selector), 's');
        *metric = (struct policy_resource){.reduce = POLICY_REDUCE_MAX,
                                           .match_count = POLICY_MAX_MATCHES};
        fill(metric->name, sizeof(metric->name), 'm');
        fill(metric->series, sizeof(metric->series), 's');
        fill(metric->capacity_series, sizeof(metric->capacity_series), 'c');
        for (size_t i = 0; i < POLICY_MAX_MATCHES; i++) {
                fill(metric->matches[i].name, POLICY_LABEL_NAME_MAX + 1, 'l');
                fill(metric->matches[i].value, sizeof(metric->matches[i].value), '"');
        }
        for (size_t i = 0; i < GLOB_LIST_MAX; i++)
                fill(rules.devices.globs[i], GLOB_MAX_BYTES, '*');
        for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
                const struct metric_query query = {resources[i], METRIC_AVG, 123456};
                _cleanup_(buf_done) struct buf out = BUF_INIT(PROMQL_MAX_BYTES);
                promql_now(&asks, name, &query, &out);
                assert_false(out.overflow);
        }
}
