/* What a policy asks a Prometheus for, and what is kept of the answers. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "controller/source/prometheus/prometheus_round.h"

enum { CPU = UINT32_C(1) << METRIC_CPU, MEM = UINT32_C(1) << METRIC_MEM };

static const struct node_network_options network;

static void fill_policy(struct policy *policy, const char *const *names, size_t count) {
        *policy = (struct policy){.metric_count = count};
        for (size_t i = 0; i < count; i++) {
                struct policy_metric *metric = &policy->metrics[i];
                (void)snprintf(metric->name, sizeof(metric->name), "%s", names[i]);
                metric->is_query = metric_query_parse(names[i], &metric->query);
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
        assert_true(prometheus_round_read(&round, 3, 1, &step, values, &ready));
        assert_int_equal(ready, 3);
        assert_true(values[0] == 0.25 && values[1] == 0.5);
        /* New places are empty. */
        for (size_t slot = 4; slot < round.slot_cap; slot++)
                assert_false(prometheus_round_read(&round, slot, 1, &step, values, &ready));
        prometheus_round_done(&round);
}
