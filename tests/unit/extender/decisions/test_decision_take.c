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
        assert_shows(show(fixture),
                     "{namespace: shop, name: web-1, uid: u-1, filterCalls: 1, prioritize: null,"
                     " filter: {at: '2026-07-23T09:46:40.000Z', candidates: 6, passed: 3,"
                     "  rejected: 2, leftOut: 2, unknown: 1, duplicates: 1, list: short,"
                     "  allOverLimits: false,"
                     "  predicates: [{}, {metric: mem_usage_avg_5m, limit: 0.9, over: 1}],"
                     "  rejectedNodes: [{node: hot, metric: cpu_usage_avg_5m, value: 0.7},"
                     "                  {node: full, value: 0.91, limit: 0.9}]}}");
        ask_filter(fixture, REFUSED_POD, "\"a\",\"b\"");
        assert_shows(show(fixture), "filter: {list: whole_retry}");
        /* All are over, and pass. */
        ask_filter(fixture, POD, "\"hot\",\"full\"");
        assert_shows(show(fixture), "filter: {passed: 2, rejected: 0, allOverLimits: true,"
                                    " predicates: [{over: 1}, {}], rejectedNodes: []}");
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
                        double expected = json_number_value(json_object_get(usage, "expected"));
                        assert_true(fabs(expected - sum) < 1e-5);
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
        estimator_bind(estimator, &(struct pod_facts){.id = 7,
                                                      .node = {"b", 1},
                                                      .request = {{0.5, 0x1p30}},
                                                      .runs_unix_ms = NOW});
        parse(fixture, POD, "\"c\"");
        estimator_reserve(estimator, &(struct reservation_pod){.id = 99},
                          fixture->snapshot->nodes.columns.estimate_number[0],
                          &(struct pod_load){{0.2, 0x1p30}}, 0);
        ask_prioritize(fixture, POD, "\"c\",\"x\",\"a\",\"b\",\"a\"");
        const json_t *shown = show(fixture);
        assert_shows(
                shown,
                "filter: null\n"
                "prioritize:\n"
                "  scoring: estimate\n"
                "  candidates: 5\n"
                "  expected: {workload: shop/StatefulSet/web, loadCores: 1, measured: false,"
                "             loadBytes: 1073741824, clusterFactorCpu: 1}\n"
                "  bestNodes:\n"
                "  - node: a\n"
                "    score: 10\n"
                "    estimate:\n"
                "      cpu: {weight: 1, reading: 0.2, ageSeconds: 30, pod: 0.2, reserved: 0.02}\n"
                "      mem: {weight: 0.5, reserved: 0.01}\n"
                "      headroom: 58\n"
                "  - {node: b, estimate: {cpu: {inFlight: 0.05}}}\n"
                "  - {}\n"
                "  - {node: x, known: false}\n");
        const json_t *nodes = json_at(shown, "prioritize", "bestNodes", NULL);
        const json_t *b = json_at(json_array_get(nodes, 1), "estimate", NULL);
        const double margin = json_number_value(json_at(b, "cpu", "margin", NULL)),
                     headroom = json_number_value(json_at(b, "headroom", NULL));
        assert_true(margin > 0.02 && margin < 0.03);
        assert_true(fabs(headroom - 100 * (1 - 0.495 - margin)) < 1e-5);
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
                assert_shows(json_array_get(nodes, 0), "node: n0");
                for (int n = 0; n < DECISION_NODES_MAX - 1; n++) {
                        const json_t *node = json_array_get(nodes, (size_t)n + 1);
                        _cleanup_(freep) char *wanted = xasprintf("{node: n%d, score: %d}",
                                                                  rows[i].second + n * rows[i].then,
                                                                  rows[i].score);
                        assert_shows(node, wanted);
                }
                fixture_free(fixture);
        }
}

/* Without priorities CPU and memory count by what pods request, though nothing is read. */
TEST(estimate_by_requests) {
        struct fixture *fixture = fixture_new(
                POLICY("scoring: estimate") "  pools: [{nodeSelector: {a: b}, priority: []}]\n");

        put_labelled(fixture, "a", "a=b", 0.20, 0.10);
        ask_prioritize(fixture, POD, "\"a\"");
        assert_shows(
                show(fixture),
                "prioritize: {bestNodes: [{estimate: {cpu: {weight: 1, reading: null, pod: 0.2},"
                " mem: {weight: 1}, headroom: 80}}]}");
        fixture_free(fixture);
}

/* The best first. */
TEST(terms) {
        static const struct {
                const char *policy, *best;
        } rows[] = {
                {POLICY("scoring: absolute"), "[{score: 8}, {score: 6}, {score: 2}]"},
                {POLICY("scoring: spread"), "[{score: 10}, {score: 7}, {score: 0}]"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture *fixture = fixture_new(rows[i].policy);
                put(fixture, "idle", 0.2, 0.2);
                put(fixture, "half", 0.4, 0.4);
                put(fixture, "busy", 0.8, 0.8);
                ask_prioritize(fixture, POD, "\"busy\",\"idle\",\"half\"");
                const json_t *ranking = json_object_get(show(fixture), "prioritize");
                assert_shows(json_object_get(ranking, "bestNodes"), rows[i].best);
                assert_shows(ranking,
                             "expected: absent\n"
                             "bestNodes:\n"
                             "- {node: idle}\n"
                             "- {node: half, score100: 60, hotValue: 0, priorities: [{metric:"
                             " cpu_usage_avg_5m, weight: 2, value: 0.4, ageSeconds: 30, full: 1,"
                             " points: 40}, {}]}\n"
                             "- {}\n");
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
        assert_shows(json_array_get(nodes, 0), "node: '\"},{\"node\":\"'");
        assert_shows(json_array_get(nodes, 3), "node: \xc3\x9cnic\xc3\xb6"
                                               "de");
        assert_shows(show_some(fixture, 1),
                     "{filter: null, prioritize: {bestNodes: [{node: '\"},{\"node\":\"'}]}}");
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
