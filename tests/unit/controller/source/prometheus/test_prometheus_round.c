/* What a policy asks a Prometheus for, and what is kept of the answers. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "controller/source/prometheus/prometheus_round.h"

enum { CPU = UINT32_C(1) << METRIC_CPU, MEM = UINT32_C(1) << METRIC_MEM };

static const struct node_network_options network;

static void fill_policy(struct policy *policy, const char *const *names, size_t count) {
        *policy = (struct policy){.metric_count = count};
        for (size_t i = 0; i < count; i++) {
                struct policy_metric *metric = &policy->metrics[i];
                (void)snprintf(metric->name, sizeof(metric->name), "%s", names[i]);
                metric->is_query = policy_query_parse(policy, names[i], &metric->query);
        }
}

/* Means are asked for as they are, up to 15 minutes; all else needs the 5-minute mean, of which
 * windows of ours are filled unless a rule records the metric itself. */
TEST(queries) {
        static const struct {
                const char *name;
                const char *queries; /* each metric:needs the mean */
                uint32_t wanted;
        } rows[] = {
                {"cpu_usage_avg_5m", "cpu_usage_avg_5m:0;", 0},
                {"cpu_usage_avg_15m", "cpu_usage_avg_15m:0;", 0},
                {"cpu_usage_avg_1h", "cpu_usage_avg_1h:1;cpu_usage_avg_5m:0;", CPU},
                {"cpu_usage_max_avg_1h", "cpu_usage_max_avg_1h:1;cpu_usage_avg_5m:0;", CPU},
                {"mem_usage_p95_1d", "mem_usage_p95_1d:1;mem_usage_avg_5m:0;", MEM},
                /* Somebody's own rule: nothing but the rule has it. */
                {"my_gauge", "my_gauge:0;", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct prometheus_round round = {.promql.network = &network};
                static struct policy policy;
                char queries[128] = "";
                fill_policy(&policy, &rows[i].name, 1);
                prometheus_round_set_policy(&round, &policy);
                for (size_t q = 0; q < round.query_count; q++)
                        (void)snprintf(queries + strlen(queries), sizeof(queries) - strlen(queries),
                                       "%s:%d;", round.queries[q].name,
                                       round.queries[q].needs_mean);
                assert_string_equal(queries, rows[i].queries);
                assert_int_equal(round.wanted, rows[i].wanted);
                prometheus_round_done(&round);
        }
}

static void take(struct prometheus_round *round, size_t query, const char *text) {
        struct prometheus_reply reply;

        assert_int_equal(prometheus_reply_open(text, strlen(text), &reply, NULL), 0);
        prometheus_round_take(round, &round->queries[query], reply);
}

#define VECTOR(labels, value)                                                                      \
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{"    \
        "\"instance\":\"a:9100\"" labels "},\"value\":[7,\"" value "\"]}]}}"

#define LABELLED(labels, name, value)                                                              \
        "{\"metric\":{" labels ",\"__name__\":\"" name "\"},\"value\":[7,\"" value "\"]}"
#define SERIES(name, value) LABELLED("\"instance\":\"a\"", name, value)
#define RECORDED(value) SERIES("cpu_usage_avg_5m", value)
#define COMPUTED(value) SERIES("", value)
#define FORGED(value) LABELLED("\"instance\":\"10.0.0.9:9100\",\"node\":\"a\"", "", value)

/* Several series of one node: a little apart, as those of two Prometheus servers that scrape at
 * different times, the largest counts. Further apart they are of different machines. */
TEST(duplicates) {
        static const struct {
                const char *series;
                const char *why; /* NULL: there is a value */
                double ratio;
                size_t duplicate, contradicting;
        } rows[] = {
                {COMPUTED("0.30") "," COMPUTED("0.35") "," COMPUTED("0.26"), NULL, 0.35, 2, 0},
                {COMPUTED("0.2") "," COMPUTED("0.9"), "contradiction", 0, 0, 1},
                {COMPUTED("0.9") "," COMPUTED("0.2"), "contradiction", 0, 0, 1},
                /* No order of a chain of near ones makes the outermost agree. */
                {COMPUTED("0.30") "," COMPUTED("0.38") "," COMPUTED("0.22"), "contradiction", 0, 1,
                 1},
                {COMPUTED("0.22") "," COMPUTED("0.30") "," COMPUTED("0.38"), "contradiction", 0, 1,
                 1},
                {RECORDED("20") "," RECORDED("90"), "contradiction", 0, 0, 1},
                /* A rule may measure in another way. */
                {RECORDED("20") "," COMPUTED("0.9"), NULL, 0.2, 1, 0},
                {COMPUTED("0.9") "," RECORDED("20"), NULL, 0.2, 1, 0},
                {COMPUTED("NaN"), "no_data", 0, 0, 0},
                /* Another node's exporter may have any label on its page. */
                {FORGED("0.9") "," COMPUTED("0.2"), NULL, 0.2, 1, 0},
                {COMPUTED("0.2") "," FORGED("0.9"), NULL, 0.2, 1, 0},
                {FORGED("0.9"), NULL, 0.9, 0, 0},
        };
        static const char *const name = "cpu_usage_avg_5m";

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                static struct policy policy;
                struct prometheus_round round = {.promql.network = &network, .is_percent = true};
                struct node a = {.name = (char[]){"a"}};
                _cleanup_(freep) char *text = xasprintf(
                        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
                        "\"result\":[%s]}}",
                        rows[i].series);
                struct window_step step;
                double values[POLICY_MAX_METRICS];
                uint64_t ready;
                fill_policy(&policy, &name, 1);
                prometheus_round_add_node(&round, &a);
                prometheus_round_set_policy(&round, &policy);
                take(&round, 0, text);
                const char *why = prometheus_round_read(&round, 0, 1, &step, values, &ready);
                assert_string_equal(why ? why : "", rows[i].why ? rows[i].why : "");
                if (!why)
                        assert_float_equal(values[0], rows[i].ratio, 1e-6);
                assert_int_equal(round.series[PROMETHEUS_DUPLICATE], rows[i].duplicate);
                assert_int_equal(round.series[PROMETHEUS_CONTRADICTING], rows[i].contradicting);
                prometheus_round_done(&round);
        }
}

/* Values of a round stay when nodes come that need more room. */
TEST(grow) {
        static const char *const names[] = {"cpu_usage_avg_5m", "my_gauge"};
        static struct policy policy;
        struct prometheus_round round = {.promql.network = &network, .is_percent = true};
        struct node a = {.name = (char[]){"a"}, .slot = 3};
        struct node b = {.name = (char[]){"b"}, .slot = 999};
        struct window_step step;
        double values[POLICY_MAX_METRICS];
        uint64_t ready;

        fill_policy(&policy, names, ARRAY_LEN(names));
        prometheus_round_add_node(&round, &a);
        prometheus_round_set_policy(&round, &policy);
        take(&round, 0, VECTOR("", "0.25"));
        take(&round, 1, VECTOR(",\"__name__\":\"my_gauge\"", "50"));
        prometheus_round_add_node(&round, &b);
        assert_true(round.slot_cap > b.slot);
        assert_null(prometheus_round_read(&round, 3, 1, &step, values, &ready));
        assert_int_equal(ready, 3);
        assert_true(values[0] == 0.25 && values[1] == 0.5);
        /* New places are empty. */
        for (size_t slot = 4; slot < round.slot_cap; slot++)
                assert_string_equal(prometheus_round_read(&round, slot, 1, &step, values, &ready),
                                    "no_data");
        prometheus_round_done(&round);
}
