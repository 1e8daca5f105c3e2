/* The parts of a node's expected usage, one resource at a time. */
#include "tests/unit/fixture/policy.h"

#include <math.h>

#include "judged_nodes.h"
#include "policy/judge/usage_split.h"

#define GIB ((double)(1 << 30))
#define POLICY(priority)                                                                           \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n" priority "  extender: {scoring: estimate}\n"
#define BOTH                                                                                       \
        "  priority: [{name: cpu_usage_avg_5m, weight: 2}, {name: mem_usage_avg_5m, weight: 1}]\n"

static const struct pod_load pod = {{1, 10 * GIB}};

static void check(double is, double wanted) {
        if (fabs(is - wanted) > 1e-9)
                fail_msg("%g instead of %g", is, wanted);
}

static void publish(struct judged *judged, const char *policy, const struct judged_node *nodes) {
        judged_init(judged, policy_of(policy));
        for (size_t i = 0; nodes[i].name; i++)
                judged_put(judged, &nodes[i]);
        judged_ask(judged, nodes, 1, 1);
}

/* 10 cores and 100 GiB; the pod counts twice, and memory has half the weight of the CPU. */
TEST(parts) {
        static const struct judged_node nodes[] = {
                {"a", "cpu=0.3 mem=0.4"}, {"unread", ""}, {"absurd", "cpu=2.01 mem=1e9"}, {0}};
        static const struct {
                size_t row;
                double weight[2], capacity[2], reading[2], pod[2], expected[2];
                bool is_read;
        } rows[] = {
                {0, {1, 0.5}, {10, 100 * GIB}, {0.3, 0.4}, {0.2, 0.2}, {0.5, 0.6}, true},
                {1, {1, 0.5}, {10, 100 * GIB}, {0, 0}, {0.2, 0.2}, {0.2, 0.2}, false},
                {2, {1, 0.5}, {10, 100 * GIB}, {0, 0}, {0.2, 0.2}, {0.2, 0.2}, false},
        };
        struct judged judged;

        publish(&judged, POLICY(BOTH), nodes);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        struct usage_split usage;
                        assert_true(usage_split_get(&judged.snapshot->nodes, rows[i].row, r, &pod,
                                                    NULL, &usage));
                        check(usage.weight, rows[i].weight[r]);
                        check(usage.capacity / rows[i].capacity[r], 1);
                        assert_int_equal(usage.is_read, rows[i].is_read);
                        check(usage.reading_ratio, rows[i].reading[r]);
                        assert_int_equal(usage.read_unix_ms, rows[i].is_read ? JUDGED_NOW : 0);
                        check(usage.pod_ratio, rows[i].pod[r]);
                        check(usage.in_flight_ratio, 0);
                        check(usage.expected_ratio, rows[i].expected[r]);
                }
        judged_done(&judged);
}

/* A pod that was bound as the reading was taken is not in it. */
TEST(in_flight) {
        static const struct judged_node nodes[] = {{"a", "cpu=0.3 mem=0.4"}, {0}};
        struct usage_split usage;
        struct judged judged;

        publish(&judged, POLICY(BOTH), nodes);
        estimator_bind(node_table_estimator(judged.table),
                       &(struct pod_facts){.id = 7,
                                           .node = {"a", 1},
                                           .request = {{2, 20 * GIB}},
                                           .runs_unix_ms = JUDGED_NOW});
        judged_ask(&judged, nodes, 1, 1);
        assert_true(usage_split_get(&judged.snapshot->nodes, 0, ESTIMATE_MEM, &pod, NULL, &usage));
        check(usage.reading_ratio, 0.4);
        check(usage.in_flight_ratio, 0.2);
        check(usage.margin_ratio, 0.674 * 0.5 * 0.2); /* of memory, half */
        check(usage.expected_ratio, 0.8 + usage.margin_ratio);
        judged_done(&judged);
}

/* With priorities, a resource without one does not count; without any, both do, by pods alone. */
TEST(resource_without_weight) {
        static const struct judged_node nodes[] = {{"a", "cpu=0.3 mem=0.4"}, {0}};
        struct usage_split usage = {.weight = 42};
        struct judged judged;

        publish(&judged, POLICY("  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"), nodes);
        assert_false(usage_split_get(&judged.snapshot->nodes, 0, ESTIMATE_MEM, &pod, NULL, &usage));
        assert_true(usage.weight == 42);
        judged_done(&judged);

        publish(&judged,
                "  syncPolicy: [{name: mem_usage_avg_5m, period: 3m}]\n"
                "  extender: {scoring: estimate}\n",
                nodes);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                assert_true(usage_split_get(&judged.snapshot->nodes, 0, r, &pod, NULL, &usage));
                assert_false(usage.is_read);
                check(usage.expected_ratio, 0.2);
        }
        judged_done(&judged);
}

/* What a pod is of a node of unknown size nobody knows. */
TEST(capacity_not_known) {
        static const struct judged_node nodes[] = {{"a", "cpu=0.3"}, {"b", "cpu=3"}, {0}};
        static const double expected[] = {0.3, 0};
        struct usage_split usage;
        struct judged judged;

        publish(&judged, POLICY(BOTH), nodes);
        for (size_t i = 0; nodes[i].name; i++)
                judged_put_with(&judged, &nodes[i], NULL);
        judged_ask(&judged, nodes, 1, 1);
        for (size_t i = 0; nodes[i].name; i++) {
                assert_true(usage_split_get(&judged.snapshot->nodes, i, ESTIMATE_CPU, &pod, NULL,
                                            &usage));
                assert_true(usage.capacity == 0 && usage.pod_ratio == 0);
                check(usage.expected_ratio, expected[i]);
        }
        judged_done(&judged);
}
