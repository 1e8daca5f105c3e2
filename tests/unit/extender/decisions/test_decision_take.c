/* What is kept of a request that was judged, and how it is shown. */
#include "tests/unit/fixture/test.h"

#include "decision_fixture.h"

#define REFUSED_POD                                                                                \
        "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-1\",\"uid\":\"u-1\"},"               \
        "\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]}}"

TEST(filter) {
        struct fixture *fixture = fixture_new(POLICY("whenAllOver: pass, shortlist: 1"));

        put(fixture, "a", 0.2, 0.1);
        put(fixture, "b", 0.3, 0.1);
        put(fixture, "hot", 0.7, 0.95);
        put(fixture, "full", 0.1, 0.91);
        ask_filter(fixture, POD, "\"a\",\"hot\",\"x\",\"full\",\"b\",\"a\"");
        const json_t *shown = show(fixture);
        assert_text(shown, "namespace", "shop");
        assert_text(shown, "name", "web-1");
        assert_text(shown, "uid", "u-1");
        assert_number(shown, "filterCalls", 1);
        assert_true(json_is_null(json_object_get(shown, "prioritize")));
        const json_t *filter = json_object_get(shown, "filter");
        assert_text(filter, "at", "2026-07-23T09:46:40.000Z");
        assert_number(filter, "candidates", 6);
        assert_number(filter, "passed", 3);
        assert_number(filter, "rejected", 2);
        assert_number(filter, "leftOut", 2);
        assert_number(filter, "unknown", 1);
        assert_number(filter, "duplicates", 1);
        assert_text(filter, "list", "short");
        assert_true(json_is_false(json_object_get(filter, "allOverLimits")));
        const json_t *predicates = json_object_get(filter, "predicates");
        assert_int_equal(json_array_size(predicates), 2);
        assert_text(json_array_get(predicates, 1), "metric", "mem_usage_avg_5m");
        assert_number(json_array_get(predicates, 1), "limit", 0.9);
        assert_number(json_array_get(predicates, 1), "over", 1);
        const json_t *nodes = json_object_get(filter, "rejectedNodes");
        assert_int_equal(json_array_size(nodes), 2);
        assert_text(json_array_get(nodes, 0), "node", "hot");
        assert_text(json_array_get(nodes, 0), "metric", "cpu_usage_avg_5m");
        assert_number(json_array_get(nodes, 0), "value", 0.7);
        assert_text(json_array_get(nodes, 1), "node", "full");
        assert_number(json_array_get(nodes, 1), "value", 0.91);
        assert_number(json_array_get(nodes, 1), "limit", 0.9);

        ask_filter(fixture, REFUSED_POD, "\"a\",\"b\"");
        assert_text(json_object_get(show(fixture), "filter"), "list", "whole_retry");

        /* All are over, and pass. */
        ask_filter(fixture, POD, "\"hot\",\"full\"");
        filter = json_object_get(show(fixture), "filter");
        assert_number(filter, "passed", 2);
        assert_number(filter, "rejected", 0);
        assert_true(json_is_true(json_object_get(filter, "allOverLimits")));
        assert_number(json_array_get(json_object_get(filter, "predicates"), 0), "over", 1);
        assert_int_equal(json_array_size(json_object_get(filter, "rejectedNodes")), 0);
        fixture_free(fixture);
}

/* The parts of each node make up its headroom, and that its points. */
static void check_sums(const json_t *nodes) {
        const json_t *node;
        size_t i;

        json_array_foreach (json_iterable(nodes), i, node) {
                static const char *const resources[] = {"cpu", "mem"};
                const json_t *estimate = json_object_get(node, "estimate");
                double largest = json_number_value(json_object_get(estimate, "other"));
                for (size_t r = 0; r < ARRAY_LEN(resources); r++) {
                        const json_t *usage = json_object_get(estimate, resources[r]);
                        static const char *const parts[] = {"reading", "inFlight", "margin", "pod",
                                                            "reserved"};
                        double sum = 0;
                        for (size_t p = 0; p < ARRAY_LEN(parts); p++)
                                sum += json_number_value(json_object_get(usage, parts[p]));
                        assert_number(usage, "expected", sum);
                        largest = fmax(largest,
                                       sum * json_number_value(json_object_get(usage, "weight")));
                }
                double headroom = json_number_value(json_object_get(estimate, "headroom"));
                assert_true(fabs(headroom - 100 * (1 - largest)) < 1e-3);
        }
}

TEST(estimate) {
        struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        struct estimator *estimator = node_table_estimator(fixture->table);

        put(fixture, "a", 0.20, 0.10);
        put(fixture, "b", 0.245, 0.30);
        put(fixture, "c", 0.50, 0.10);
        estimator_bind(estimator, &(struct estimator_pod){.id = 7,
                                                          .node = "b",
                                                          .node_len = 1,
                                                          .request = {{0.5, 0x1p30}},
                                                          .runs_unix_ms = NOW});
        parse(fixture, POD, "\"c\"");
        estimator_reserve(estimator, &(struct reservation_pod){.id = 99},
                          fixture->snapshot->nodes.columns.estimate_number[0],
                          &(struct pod_load){{0.2, 0x1p30}}, 0);
        ask_prioritize(fixture, POD, "\"c\",\"x\",\"a\",\"b\",\"a\"");
        const json_t *shown = show(fixture);
        assert_true(json_is_null(json_object_get(shown, "filter")));
        const json_t *ranking = json_object_get(shown, "prioritize");
        assert_text(ranking, "scoring", "estimate");
        assert_number(ranking, "candidates", 5);
        const json_t *expected = json_object_get(ranking, "expected");
        assert_text(expected, "workload", "shop/StatefulSet/web");
        assert_number(expected, "loadCores", 1);
        assert_number(expected, "loadBytes", 0x1p30);
        assert_number(expected, "confidence", 0);
        assert_number(expected, "clusterFactorCpu", 1);
        assert_true(json_is_null(json_object_get(expected, "learnedCores")));
        const json_t *nodes = json_object_get(ranking, "bestNodes");
        assert_int_equal(json_array_size(nodes), 4);
        const json_t *a = json_array_get(nodes, 0), *b = json_array_get(nodes, 1);
        assert_text(a, "node", "a");
        assert_number(a, "score", 10);
        assert_number(json_at(a, "estimate", "cpu", NULL), "weight", 1);
        assert_number(json_at(a, "estimate", "cpu", NULL), "reading", 0.2);
        assert_number(json_at(a, "estimate", "cpu", NULL), "ageSeconds", 30);
        assert_number(json_at(a, "estimate", "cpu", NULL), "pod", 0.2);
        assert_number(json_at(a, "estimate", "cpu", NULL), "reserved", 0.02);
        assert_number(json_at(a, "estimate", "mem", NULL), "weight", 0.5);
        assert_number(json_at(a, "estimate", "mem", NULL), "reserved", 0.01);
        assert_number(json_at(a, "estimate", NULL), "headroom", 58);
        assert_text(b, "node", "b");
        assert_number(json_at(b, "estimate", "cpu", NULL), "inFlight", 0.05);
        const double margin = json_number_value(json_at(b, "estimate", "cpu", "margin", NULL));
        assert_true(margin > 0.02 && margin < 0.03);
        assert_number(json_at(b, "estimate", NULL), "headroom", 100 * (1 - 0.495 - margin));
        assert_text(json_array_get(nodes, 3), "node", "x");
        assert_true(json_is_false(json_object_get(json_array_get(nodes, 3), "known")));
        json_auto_t *known = json_copy(json_iterable(nodes));
        (void)json_array_remove(known, 3);
        check_sums(known);
        fixture_free(fixture);
}

#define LAST_BY_MEMORY                                                                             \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"                                                                                   \
        "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.9, overLimit: last}]\n"          \
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"                                      \
        "  extender: {scoring: estimate}\n"

/* Of many with the same points those with the most headroom are kept, but none with fewer points,
 * which a node with more headroom has that ranks last. */
TEST(best_by_headroom) {
        enum { NODES = 30, LAST = 25 };
        static const struct {
                double cpu, step; /* of the second node, and of each that follows */
                int score, second, then;
        } rows[] = {
                {0.1, 0.0001, 10, 1, 1},
                {1.2, -0.0001, 0, NODES - 1, -1}, /* full: without points */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture *fixture = fixture_new(LAST_BY_MEMORY);
                _cleanup_(buf_done) struct buf names = BUF_INIT(1 << 10);
                char name[16];
                put(fixture, "n0", 0.1, 0.5);
                (void)buf_puts(&names, "\"n0\"");
                for (int n = 1; n < NODES; n++) {
                        bool is_last = i == 0 && n == LAST;
                        (void)snprintf(name, sizeof(name), "n%d", n);
                        put(fixture, name, is_last ? 0 : rows[i].cpu + n * rows[i].step,
                            is_last ? 0.95 : 0.5);
                        (void)buf_printf(&names, ",\"%s\"", name);
                }
                ask_prioritize(fixture, POD, names.data);
                const json_t *nodes = json_at(show(fixture), "prioritize", "bestNodes", NULL);
                assert_int_equal(json_array_size(nodes), DECISION_NODES_MAX);
                assert_text(json_array_get(nodes, 0), "node", "n0");
                for (int n = 0; n < DECISION_NODES_MAX - 1; n++) {
                        const json_t *node = json_array_get(nodes, (size_t)n + 1);
                        (void)snprintf(name, sizeof(name), "n%d",
                                       rows[i].second + n * rows[i].then);
                        assert_text(node, "node", name);
                        assert_number(node, "score", rows[i].score);
                }
                fixture_free(fixture);
        }
}

/* Without priorities CPU and memory count by what pods request, though nothing is read. */
TEST(estimate_by_requests) {
        struct fixture *fixture = fixture_new(
                POLICY("scoring: estimate") "  pools: [{nodeSelector: {a: b}, priority: []}]\n");
        json_auto_t *labels = json_pack("{s:s}", "a", "b");

        put_labelled(fixture, "a", labels, 0.20, 0.10);
        ask_prioritize(fixture, POD, "\"a\"");
        const json_t *estimate = json_object_get(
                json_array_get(json_at(show(fixture), "prioritize", "bestNodes", NULL), 0),
                "estimate");
        assert_number(json_at(estimate, "cpu", NULL), "weight", 1);
        assert_true(json_is_null(json_at(estimate, "cpu", "reading", NULL)));
        assert_number(json_at(estimate, "cpu", NULL), "pod", 0.2);
        assert_number(json_at(estimate, "mem", NULL), "weight", 1);
        assert_number(estimate, "headroom", 80);
        fixture_free(fixture);
}

/* The best first. */
TEST(terms) {
        static const struct {
                const char *policy;
                double scores[3];
        } rows[] = {
                {POLICY("scoring: absolute"), {8, 6, 2}},
                {POLICY("scoring: spread"), {10, 7, 0}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture *fixture = fixture_new(rows[i].policy);
                put(fixture, "idle", 0.2, 0.2);
                put(fixture, "half", 0.4, 0.4);
                put(fixture, "busy", 0.8, 0.8);
                ask_prioritize(fixture, POD, "\"busy\",\"idle\",\"half\"");
                const json_t *ranking = json_object_get(show(fixture), "prioritize");
                assert_null(json_object_get(ranking, "expected"));
                const json_t *nodes = json_object_get(ranking, "bestNodes");
                assert_text(json_array_get(nodes, 0), "node", "idle");
                for (size_t n = 0; n < ARRAY_LEN(rows[i].scores); n++)
                        assert_number(json_array_get(nodes, n), "score", rows[i].scores[n]);
                const json_t *half = json_array_get(nodes, 1);
                assert_text(half, "node", "half");
                assert_number(half, "score100", 60);
                assert_number(half, "hotValue", 0);
                const json_t *cpu = json_array_get(json_object_get(half, "priorities"), 0);
                assert_text(cpu, "metric", "cpu_usage_avg_5m");
                assert_number(cpu, "weight", 2);
                assert_number(cpu, "value", 0.4);
                assert_number(cpu, "ageSeconds", 30);
                assert_number(cpu, "full", 1);
                assert_number(cpu, "points", 40);
                fixture_free(fixture);
        }
}

/* More nodes than are kept, with names longer than there is room for, in every order. */
TEST(bounds) {
        enum { NODES = 100, NAME_BYTES = 240 };
        struct fixture *fixture = fixture_new(POLICY("scoring: absolute"));
        _cleanup_(buf_done) struct buf names = BUF_INIT(1 << 16);
        char name[NAME_BYTES + 16];

        for (int i = 0; i < NODES; i++) {
                int len = snprintf(name, sizeof(name), "n%02d", i);
                if (i % 10 == 0)
                        memset(name + len, 'x', NAME_BYTES), name[len + NAME_BYTES] = '\0';
                put(fixture, name, (i * 37 % NODES) / 100.0, 0.1);
                (void)buf_printf(&names, "%s\"%s\"", i ? "," : "", name);
        }
        ask_filter(fixture, POD, names.data);
        ask_prioritize(fixture, POD, names.data);
        const json_t *shown = show(fixture);
        const json_t *rejected = json_object_get(json_object_get(shown, "filter"), "rejectedNodes");
        const json_t *best = json_object_get(json_object_get(shown, "prioritize"), "bestNodes");
        assert_true(json_array_size(rejected) > 10 && json_array_size(rejected) <= 16);
        assert_true(json_array_size(best) > 2 && json_array_size(best) <= 16);
        for (size_t i = 1; i < json_array_size(best); i++)
                assert_true(
                        json_integer_value(json_object_get(json_array_get(best, i - 1), "score")) >=
                        json_integer_value(json_object_get(json_array_get(best, i), "score")));
        fixture_free(fixture);
}

/* Nodes that only the request knows are called as it likes. */
TEST(hostile_names) {
        struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static const char names[] = "\"\\\"},{\\\"node\\\":\\\"\",\"<script>\",\"\\u0000\\u0007\","
                                    "\"\xc3\x9cnic\xc3\xb6"
                                    "de\",\"\\ud83d\\ude00\",\"\"";

        ask_prioritize(fixture, POD, names);
        const json_t *nodes = json_object_get(json_object_get(show(fixture), "prioritize"),
                                              "bestNodes");
        assert_int_equal(json_array_size(nodes), 6);
        assert_text(json_array_get(nodes, 0), "node", "\"},{\"node\":\"");
        assert_text(json_array_get(nodes, 3), "node",
                    "\xc3\x9cnic\xc3\xb6"
                    "de");

        fixture->decision.is_ranked = true;
        const json_t *line = show_line(fixture);
        assert_text(line, "bestNode", "\"},{\"node\":\"");
        assert_true(json_is_null(json_object_get(line, "candidates")));
        fixture_free(fixture);
}

/* Of a pod that nobody could ask for nothing is kept. */
TEST(pods) {
        static const struct {
                const char *namespace, *name, *uid;
                bool is_kept;
        } rows[] = {
                {"d", "a", "u", true},
                {"", "a", "u", false},
                {"d", "", "u", false},
                {"d", "a", "", false},
        };
        _cleanup_(freep) char *longest = xcalloc(1, POD_FACTS_NAME_MAX + 2);
        struct decision_pod pod;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct pod_facts facts = {
                        .id = 1,
                        .namespace = {rows[i].namespace, strlen(rows[i].namespace), false},
                        .name = {rows[i].name, strlen(rows[i].name), false},
                        .uid = {rows[i].uid, strlen(rows[i].uid), false},
                };
                assert_int_equal(decision_take_pod(&facts, &pod), rows[i].is_kept);
        }
        memset(longest, 'x', POD_FACTS_NAME_MAX + 1);
        struct pod_facts facts = {
                .id = 1,
                .namespace = {longest, POD_FACTS_NAMESPACE_MAX, false},
                .name = {longest, POD_FACTS_NAME_MAX, false},
                .uid = {longest, DECISION_UID_MAX, false},
        };
        assert_true(decision_take_pod(&facts, &pod));
        assert_int_equal(strlen(pod.full_name), DECISION_FULL_NAME_MAX);
        assert_int_equal(strlen(pod.uid), DECISION_UID_MAX);
        facts.name.len++;
        assert_false(decision_take_pod(&facts, &pod));
        facts.name.len--;
        facts.namespace.len++;
        assert_false(decision_take_pod(&facts, &pod));
        facts.namespace.len--;
        facts.uid.len++;
        assert_false(decision_take_pod(&facts, &pod));
}
