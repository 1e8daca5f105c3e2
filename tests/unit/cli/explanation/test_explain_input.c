/* What `explain` takes from pods, and how it draws a node. */
#include "tests/unit/fixture/policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/explanation/explanation.h"
#include "codec/json.h"

#define NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

#define POLICY(extender)                                                                           \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"                           \
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"                                      \
        "  extender: {scoring: " extender "}\n"

static struct node_table *table_new(const char *text) {
        return node_table_new(&(struct node_table_options){.annotation_prefix = ""},
                              policy_of(text), NOW);
}

#define META(name) "\"metadata\":{" name "\"uid\":\"u\"}"
#define NAMED META("\"namespace\":\"d\",\"name\":\"p\",")
#define REST(node, phase)                                                                          \
        ",\"spec\":{\"nodeName\":\"" node "\",\"containers\":[{\"resources\":{\"requests\":{"      \
        "\"cpu\":\"500m\"}}}]},\"status\":{\"phase\":\"" phase "\",\"conditions\":[{\"type\":"     \
        "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-07-23T09:46:00Z\"}]}"
#define BOUND REST("n", "Running")

/* One pod is the one that looks for a node; of the others those that are bound and not finished
 * count, whether they run yet or not. */
TEST(pods) {
        static const struct {
                const char *pod, *wanted;
                bool is_wanted, counts;
        } rows[] = {
                {"{" NAMED BOUND "}", "d/p", true, false},
                {"{" NAMED BOUND "}", NULL, false, true},
                {"{" NAMED BOUND "}", "d/q", false, true},
                {"{" NAMED BOUND "}", "e/p", false, true},
                {"{" NAMED BOUND "}", "d-p", false, true},
                {"{" NAMED BOUND "}", "d/pp", false, true},
                {"{" META("\"name\":\"p\",") BOUND "}", "/p", false, true},
                {"{" META("\"namespace\":\"d\",") BOUND "}", "d/", false, true},
                {"{" NAMED ",\"spec\":{\"nodeName\":\"n\"}}", NULL, false, true},
                /* Of these nothing runs, or will. */
                {"{" NAMED REST("", "Pending") "}", NULL, false, false},
                {"{" NAMED REST("n", "Succeeded") "}", NULL, false, false},
                {"{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"}" BOUND "}", NULL, false,
                 false},
                /* No pod at all, and one with a key that no pod has. */
                {"7", NULL, false, false},
                {"{\"metadata\":{\"a\\\"b\":{}}}", NULL, false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_new(
                        POLICY("estimate"));
                _cleanup_(node_table_freep) struct node_table *plain = table_new(
                        POLICY("absolute"));
                json_auto_t *pod = json_loads(rows[i].pod, JSON_DECODE_ANY, NULL);
                struct explained_pod explained = {0};
                struct estimator_stats stats;
                assert_non_null(pod);
                explain_pod_add(table, pod, rows[i].wanted, &explained);
                if ((explained.name != NULL) != rows[i].is_wanted)
                        fail_msg("row %zu", i);
                estimator_stats(node_table_estimator(table), 0, &stats);
                if (stats.pods != rows[i].counts)
                        fail_msg("row %zu: %zu pods", i, stats.pods);
                assert_true(explained.facts.request.of[ESTIMATE_CPU] ==
                            (rows[i].is_wanted ? 0.5 : 0));
                explain_pod_done(&explained);
                explain_pod_add(plain, pod, rows[i].wanted, &explained);
                assert_int_equal(explained.name != NULL, rows[i].is_wanted);
                explain_pod_done(&explained);
        }
}

static void put(struct node_table *table, const char *name, const char *cpu) {
        json_auto_t *annotations = json_pack("{s:s}", "cpu_usage_avg_5m", cpu);

        node_table_put(table, &(struct node_update){.name = name, .annotations = annotations}, NOW);
}

#define TEN(cell) cell cell cell cell cell cell cell cell cell cell
#define NINE(cell) cell cell cell cell cell cell cell cell cell

static char *drawn_with(const struct explanation *explanation, const struct style *style) {
        json_auto_t *nodes = explanation_json(explanation);
        char *drawn = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&drawn, &len);

        assert_non_null(out);
        explanation_print(explanation, nodes, style, out);
        assert_int_equal(fclose(out), 0);
        return drawn;
}

/* A bar is full at most and empty at least; text of strangers cannot paint the terminal. */
TEST(drawing) {
        static const struct style coloured = {"\033[1m", "\033[31m", "\033[33m", "\033[32m",
                                              "\033[2m", "\033[0m",  true,       80};
        static const struct {
                const char *cpu, *parts[3];
        } rows[] = {
                {"0.25,2026-07-23T09:46:10Z", {"█████░░░░░┃░░░░░░░░░", "30s old"}},
                {"0,2026-07-23T09:46:10Z",
                 {"\033[32m" TEN("░") "┃" NINE("░") "\033[0m", "\033[32m" TEN("█") TEN("█")}},
                {"1.5,2026-07-23T09:46:10Z",
                 {"\033[31m" TEN("█") "┃" NINE("█") "\033[0m", "\033[31mABOVE",
                  "\033[32m" TEN("░") TEN("░")}},
                {"1e300,2026-07-23T09:46:10Z", {TEN("█") "┃" NINE("█")}},
                {"0.25,2026-07-23T09:47:10Z", {"30s in the future"}},
                {"\x7f\033[2Jb\xc3\xbc", {"malformed: '?\x3f[2Jb?\x3f'"}},
                {"0.25,2026-07-23T09:30:00Z", {"expired", "25.0%"}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_new(
                        POLICY("absolute"));
                struct explained_pod pod = {0};
                struct explanation explanation;
                put(table, "n\x7f", rows[i].cpu);
                explanation_init(&explanation, table, NULL, &pod, NOW);
                _cleanup_(freep) char *drawn = drawn_with(&explanation, &coloured);
                assert_non_null(strstr(drawn, "\033[1mn?\033[0m: "));
                for (size_t p = 0; p < ARRAY_LEN(rows[i].parts) && rows[i].parts[p]; p++)
                        if (!strstr(drawn, rows[i].parts[p]))
                                fail_msg("row %zu, part %zu: %s", i, p, drawn);
                explanation_done(&explanation);
        }
}

/* What was measured of a pod's workload is what it is expected to use. */
TEST(measured) {
        static const char pod_text[] =
                "{\"metadata\":{\"namespace\":\"d\",\"name\":\"p\",\"uid\":\"u\","
                "\"ownerReferences\":[{"
                "\"kind\":\"StatefulSet\",\"name\":\"s\",\"controller\":true}]}" REST(
                        "", "Pending") "}";
        static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};
        static const struct {
                const char *workload, *shown;
        } rows[] = {
                {"d/StatefulSet/s", "pod d/p:\n  expected: 0.25 CPUs and 256 MiB, as measured of "
                                    "d/StatefulSet/s\n"},
                {"d/StatefulSet/t", "pod d/p:\n  expected: 0.5 CPUs and 200 MiB, by the cluster's "
                                    "factors 1 and 1\n"},
        };
        json_auto_t *json = json_loads(pod_text, 0, NULL);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_new(
                        POLICY("estimate"));
                struct explained_pod pod = {0};
                struct explanation explanation;
                estimator_measure_workload(node_table_estimator(table), 0, rows[i].workload,
                                           strlen(rows[i].workload),
                                           &(struct workload_measure){.mean = {{0.25, 1 << 28}}});
                explain_pod_add(table, json, "d/p", &pod);
                explanation_init(&explanation, table, NULL, &pod, NOW);
                _cleanup_(freep) char *drawn = drawn_with(&explanation, &plain);
                if (!strstr(drawn, rows[i].shown))
                        fail_msg("row %zu: %s", i, drawn);
                explanation_done(&explanation);
                explain_pod_done(&pod);
        }
}

/* For any pod such a node is no candidate; a pod that is known may tolerate what closes it. */
TEST(closed) {
        static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};
        static const char pod_text[] =
                "{\"metadata\":{\"namespace\":\"d\",\"name\":\"p\",\"uid\":\"u\"}" REST(
                        "", "Pending") "}";
        _cleanup_(node_table_freep) struct node_table *table = table_new(POLICY("absolute"));
        _cleanup_(listed_nodes_done) struct listed_nodes listed = {0};
        json_auto_t *pod_json = json_loads(pod_text, 0, NULL);
        json_auto_t *node = json_pack("{s:{s:s, s:{s:s}}, s:{s:b}}", "metadata", "name", "n",
                                      "annotations", "cpu_usage_avg_5m",
                                      "0.25,2026-07-23T09:46:10Z", "spec", "unschedulable", 1);
        _cleanup_(explain_pod_done) struct explained_pod pod = {0};
        struct explanation explanation;

        assert_true(listed_nodes_put(&listed, table, node, NOW));
        explanation_init(&explanation, table, &listed, NULL, NOW);
        assert_int_equal(explanation_score(&explanation, 0), -1);
        json_auto_t *json = explanation_node_json(&explanation, 0);
        assert_string_equal(json_string_at(json, "closedBy", NULL), "cordoned");
        _cleanup_(freep) char *drawn = drawn_with(&explanation, &plain);
        assert_non_null(strstr(drawn, "n: takes no pods without a toleration: cordoned\n  limit"));
        explanation_done(&explanation);

        explain_pod_add(table, pod_json, "d/p", &pod);
        explanation_init(&explanation, table, &listed, &pod, NOW);
        assert_true(explanation_score(&explanation, 0) > 0);
        json_auto_t *of_pod = explanation_node_json(&explanation, 0);
        assert_true(json_is_null(json_at(of_pod, "closedBy", NULL)));
        explanation_done(&explanation);
}

/* A product may be larger than JSON's numbers: it is null. */
TEST(large_weights) {
        _cleanup_(node_table_freep) struct node_table *table = table_new(
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1e308}]\n");
        struct explanation explanation;

        put(table, "n", "0.25,2026-07-23T09:46:10Z");
        explanation_init(&explanation, table, NULL, NULL, NOW);
        json_auto_t *node = explanation_node_json(&explanation, 0);
        const json_t *priority = json_array_get(json_at(node, "priorities", NULL), 0);
        assert_true(json_number_value(json_at(priority, "weight", NULL)) == 1e308);
        assert_true(json_is_null(json_at(priority, "free", NULL)));
        explanation_done(&explanation);
}

/* The estimate has no room for the node: nothing is known of it but its reading. */
TEST(one_node_too_many) {
        _cleanup_(node_table_freep) struct node_table *table = table_new(POLICY("estimate"));
        struct estimator *estimator = node_table_estimator(table);
        struct explanation explanation;
        char name[16];

        for (uint64_t id = 1; id <= ESTIMATOR_MAX_NODES; id++) {
                (void)snprintf(name, sizeof(name), "n%d", (int)id);
                estimator_bind(estimator, &(struct estimator_pod){.id = id,
                                                                  .node = name,
                                                                  .node_len = strlen(name),
                                                                  .runs_unix_ms = NOW});
        }
        put(table, "n", "0.25,2026-07-23T09:46:10Z");
        explanation_init(&explanation, table, NULL, NULL, NOW);
        json_auto_t *node = explanation_node_json(&explanation, 0);
        const json_t *reading = json_at(node, "estimate", "cpu", "reading", NULL);
        assert_true(json_number_value(reading) == 0.25);
        explanation_done(&explanation);
}
