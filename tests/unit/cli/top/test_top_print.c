/* The line of a node, whatever its annotations hold. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/top/top_view.h"
#include "codec/json.h"
#include "tests/put_node.h"
#include "tests/unit/fixture/explained.h"
#include "tests/unit/fixture/rows.h"

#define NOW_TEXT "2026-07-23T12:00:00Z"
#define NOW_UNIX_MS INT64_C(1784808000000)
#define POLICY(terms)                                                                              \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "240h}]\n" terms
#define CPU POLICY("  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n")
#define BOTH                                                                                       \
        POLICY("  priority: [{name: cpu_usage_avg_5m, weight: 1}, {name: mem_usage_avg_5m, "       \
               "weight: 1}]\n")
#define LIMITED(rest) POLICY("  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8" rest)
#define CPU_IS(value, at) "{\"cpu_usage_avg_5m\": \"" value "," at "\"}"

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};

/* @other: of a second node; NULL: there is one
 * @labels: of the first; NULL: none */
static char *print_styled(const struct style *style, const char *policy_text,
                          const char *annotations, const char *other, const char *labels) {
        const struct node_table_options options = {.annotation_prefix = ""};
        _cleanup_(top_view_done) struct top_view view;
        json_auto_t *known = json_loads(annotations, 0, NULL);
        json_auto_t *labelled = json_loads(labels ? labels : "{}", 0, NULL);
        char *text = NULL;
        size_t len = 0;

        _cleanup_(node_table_freep) struct node_table *table = node_table_new(
                &options, policy_of(policy_text), NOW_UNIX_MS);
        assert_non_null(known);
        put_node_parts(table, "node", known, labelled, NULL, NOW_UNIX_MS);
        if (other) {
                json_auto_t *others = json_loads(other, 0, NULL);
                put_node_parts(table, "other", others, NULL, NULL, NOW_UNIX_MS);
        }
        json_auto_t *page = explained_nodes(table, NOW_UNIX_MS);
        top_view_init(&view, page, NULL, "a file", false, true);
        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        top_view_print(&view, style, style->width == SIZE_MAX, false, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

static char *print_both(const char *policy_text, const char *annotations, const char *other) {
        return print_styled(&plain, policy_text, annotations, other, NULL);
}

static char *print(const char *policy_text, const char *annotations) {
        return print_both(policy_text, annotations, NULL);
}

TEST(lines) {
        for (struct rows rows = rows_open("top-lines.tsv"); rows_next(&rows);) {
                _cleanup_(freep) char *text = print(rows_unescape(rows.cells[0]), rows.cells[1]);
                char *line = strchr(text, '\n') + 1;
                line[strcspn(line, "\n")] = '\0';
                if (strcmp(line, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, line);
        }
}

/* A node that is above a limit is not `ok`, be it let through; and it is counted. */
TEST(above) {
        static const char over[] = CPU_IS("0.91", NOW_TEXT);
        static const struct {
                const char *policy, *other, *verdict, *counts;
        } cases[] = {
                {LIMITED("}]\n"), NULL, "  cpu_usage_avg_5m above 0.8\n",
                 "1 node: 0 pass, 1 above a limit"},
                {LIMITED("}]\n  extender: {whenAllOver: pass}\n"), over,
                 "  cpu_usage_avg_5m above 0.8; passes, since all are\n",
                 "2 nodes: 2 pass, 2 above a limit"},
                {LIMITED("}]\n  extender: {whenAllOver: pass}\n"), "{}",
                 "  cpu_usage_avg_5m above 0.8\n", "2 nodes: 1 pass, 1 above a limit"},
                {LIMITED(", overLimit: last}]\n"), NULL,
                 "  cpu_usage_avg_5m above 0.8; passes, since all are\n",
                 "1 node: 1 pass, 1 above a limit"},
                {LIMITED(", overLimit: last}]\n"), "{}",
                 "  cpu_usage_avg_5m above 0.8; comes last\n", "2 nodes: 2 pass, 1 above a limit"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(freep) char *text = print_both(cases[i].policy, over, cases[i].other);
                assert_non_null(strstr(text, cases[i].verdict));
                assert_non_null(strstr(text, cases[i].counts));
        }
}

/* What a pool has is about its nodes alone: its limits, and the metrics that no other node needs.
 */
TEST(pools) {
        static const struct {
                const char *labels, *annotations, *verdict;
                bool is_red;
        } rows[] = {
                {"{\"a\": \"b\"}", CPU_IS("0.9", NOW_TEXT), "  ok, 1 of 2 metrics unusable\n",
                 false},
                {"{}", CPU_IS("0.9", NOW_TEXT), "  <cpu_usage_avg_5m above 0.8\n", true},
                {"{}", CPU_IS("0.5", NOW_TEXT), "  ok\n", false},
        };
        struct style style = plain;

        style.red = "<";
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = print_styled(
                        &style,
                        LIMITED("}]\n  pools: [{nodeSelector: {a: b}, predicate: [{name: "
                                "cpu_usage_avg_5m, maxLimitPecent: 0.95}, {name: mem_usage_avg_5m, "
                                "maxLimitPecent: 0.9}]}]\n"),
                        rows[i].annotations, NULL, rows[i].labels);
                assert_non_null(strstr(text, rows[i].verdict));
                assert_int_equal(strstr(text, "<  90%") != NULL, rows[i].is_red);
        }
}

/* A node that takes no pods has no score, leaves the whole scale to the others, and is counted
 * once: the tainted one is above the limit. */
TEST(closed) {
        static const char policy_text[] = BOTH
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}]\n"
                "  extender: {scoring: estimate}\n";
        static const struct {
                const char *name, *spec, *cpu, *line;
        } rows[] = {
                {"cordoned", "{\"unschedulable\": true}", "0.01," NOW_TEXT,
                 "cordoned      -            1%     50%     0         0%        1%     0s  "
                 "cordoned\n"},
                {"free", "{}", "0.2," NOW_TEXT,
                 "free         10           20%     50%     0         0%       20%     0s  ok\n"},
                {"tainted", "{\"taints\": [{\"key\": \"a/b\", \"effect\": \"NoSchedule\"}]}",
                 "0.9," NOW_TEXT,
                 "tainted       -           90%     50%     1        62%       90%     0s  taint "
                 "a/b\n"},
        };
        const struct node_table_options options = {.annotation_prefix = ""};
        _cleanup_(node_table_freep) struct node_table *table = node_table_new(
                &options, policy_of(policy_text), NOW_UNIX_MS);
        _cleanup_(top_view_done) struct top_view view;
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *node = json_pack(
                        "{s:{s:s, s:{s:s, s:s}}, s:{s:{s:s, s:s}}, s:o}", "metadata", "name",
                        rows[i].name, "annotations", "cpu_usage_avg_5m", rows[i].cpu,
                        "mem_usage_avg_5m", "0.5," NOW_TEXT, "status", "capacity", "cpu", "4",
                        "memory", "8Gi", "spec", json_loads(rows[i].spec, 0, NULL));
                assert_true(node_table_put(table, node, NOW_UNIX_MS));
        }
        estimator_bind(node_table_estimator(table),
                       &(struct pod_facts){.id = 1,
                                           .node = {"tainted", strlen("tainted")},
                                           .request = {{2.5, 1e9}},
                                           .runs_unix_ms = NOW_UNIX_MS - 7200000});
        json_auto_t *page = explained_nodes(table, NOW_UNIX_MS);
        top_view_init(&view, page, NULL, "a file", false, true);
        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        top_view_print(&view, &plain, true, false, out);
        assert_int_equal(fclose(out), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (!strstr(text, rows[i].line))
                        fail_msg("%s\n%s", rows[i].line, text);
        assert_non_null(strstr(text, "  PODS  REQUESTED  EXPECTED  "));
        assert_null(strstr(text, "RECENT"));
        assert_non_null(strstr(text, "\n3 nodes: 1 pass, 0 above a limit, 2 closed; by"));
}

/* A node is without a usable value when the policy needs one. */
TEST(sums) {
        _cleanup_(freep) char *none = print(POLICY(""), "{}"), *blind = print(CPU, "{}");

        assert_non_null(strstr(none, "\n1 node: 1 pass, 0 above a limit; by a file\n"));
        assert_non_null(strstr(blind, "0 above a limit, 1 without a usable value; by a file\n"));
}

TEST(narrow) {
        static const char three[] =
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, "
                "period: 3m}, {name: net_usage_avg_5m, period: 3m}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1}, {name: mem_usage_avg_5m, "
                "weight: 1}, {name: net_usage_avg_5m, weight: 1}]\n";
        struct style style = plain;

        style.width = 40;
        _cleanup_(freep) char *one = print_styled(&style, BOTH, "{}", NULL, NULL);
        _cleanup_(freep) char *two = print_styled(&style, three, "{}", NULL, NULL);

        assert_non_null(strstr(one, "\n1 more column with -o wide\n"));
        assert_non_null(strstr(two, "\n2 more columns with -o wide\n"));
}
