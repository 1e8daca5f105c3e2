/* What `explain` takes from pods, and how it draws a node. */
#include "tests/unit/fixture/policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "codec/json.h"
#include "extender/explain/explanation.h"

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

        node_table_put(table, name, annotations, NOW);
}

#define TEN(cell) cell cell cell cell cell cell cell cell cell cell
#define NINE(cell) cell cell cell cell cell cell cell cell cell

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
                {"0.25,2026-07-23T09:30:00Z", {"expired", "25.0 %"}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_new(
                        POLICY("absolute"));
                struct explained_pod pod = {0};
                struct explanation explanation;
                char *drawn = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&drawn, &len);
                assert_non_null(out);
                put(table, "n\x7f", rows[i].cpu);
                explanation_init(&explanation, table, &pod, NOW);
                json_auto_t *nodes = explanation_json(&explanation);
                explanation_print(&explanation, nodes, &coloured, out);
                assert_int_equal(fclose(out), 0);
                assert_non_null(strstr(drawn, "\033[1mn?\033[0m: "));
                for (size_t p = 0; p < ARRAY_LEN(rows[i].parts) && rows[i].parts[p]; p++)
                        if (!strstr(drawn, rows[i].parts[p]))
                                fail_msg("row %zu, part %zu: %s", i, p, drawn);
                explanation_done(&explanation);
                free(drawn);
        }
}
