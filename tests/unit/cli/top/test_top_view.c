/* What `top` makes of an explanation: columns, order, sums. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>
#include <sysexits.h>

#include "base/mem.h"
#include "cli/top/top_view.h"
#include "codec/json.h"
#include "tests/put_node.h"
#include "tests/unit/fixture/explained.h"

#define NOW_TEXT "2026-07-23T12:00:00Z"
#define NOW_UNIX_MS INT64_C(1784808000000)

static const char policy_text[] = "  syncPolicy:\n"
                                  "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                  "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                  "  - {name: mem_usage_p95_1h, period: 3m}\n"
                                  "  - {name: gpus, period: 3m}\n"
                                  "  predicate:\n"
                                  "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.65}\n"
                                  "  priority:\n"
                                  "  - {name: cpu_usage_avg_5m, weight: 1}\n"
                                  "  - {name: mem_usage_p95_1h, weight: 1}\n"
                                  "  - {name: gpus, weight: 0.001}\n";

static const struct {
        const char *name, *annotations;
} nodes[] = {
        {"calm", "{\"cpu_usage_avg_5m\": \"0.10000," NOW_TEXT "\", \"gpus\": \"0.5," NOW_TEXT
                 "\", \"mem_usage_p95_1h\": \"0.5,2026-07-23T11:59:00Z\"}"},
        {"bare", "{}"},
        {"hot", "{\"cpu_usage_avg_5m\": \"0.9," NOW_TEXT "\", \"node_hot_value\": \"2," NOW_TEXT
                "\", \"mem_usage_p95_1h\": \"0.2,2026-07-23T10:00:00Z\"}"},
};

static struct {
        struct node_table *table;
        json_t *page;
        struct top_view view;
} here;

static int set_up(void **state) {
        const struct node_table_options options = {.annotation_prefix = ""};

        here.table = node_table_new(&options, policy_of(policy_text), NOW_UNIX_MS);
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
                json_auto_t *annotations = NULL;
                assert_int_equal(json_parse(nodes[i].annotations, strlen(nodes[i].annotations),
                                            &annotations, NULL),
                                 0);
                put_node_parts(here.table, nodes[i].name, annotations, NULL, NULL, NOW_UNIX_MS);
        }
        here.page = explained_nodes(here.table, NOW_UNIX_MS);
        top_view_init(&here.view, here.page, NULL, "a file", false, true);
        return 0;
}

static int tear_down(void **state) {
        top_view_done(&here.view);
        json_decref(here.page);
        node_table_free(here.table);
        return 0;
}

TEST_BETWEEN(columns, set_up, tear_down) {
        static const char *const titles[] = {"CPU 5m <=65%", "MEM 1h p95", "gpus"};
        struct top_view all;

        assert_int_equal(here.view.column_count, ARRAY_LEN(titles)); /* what nothing uses is not */
        for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
                assert_string_equal(here.view.columns[i].title, titles[i]);
        }
        top_view_init(&all, here.page, NULL, "a file", true, false);
        assert_int_equal(all.column_count, 4);
        assert_string_equal(all.columns[0].title, "CPU 5m ≤65%");
        assert_string_equal(all.columns[1].title, "CPU 1h max");
        top_view_done(&all);
}

TEST_BETWEEN(order, set_up, tear_down) {
        static const struct {
                const char *key, *names[3];
        } cases[] = {
                {"name", {"bare", "calm", "hot"}},
                {"score", {"calm", "bare", "hot"}},
                {"recent", {"hot", "bare", "calm"}},
                {"pods", {"bare", "calm", "hot"}},
                {"requested", {"bare", "calm", "hot"}},
                {"expected", {"hot", "bare", "calm"}},
                {"age", {"calm", "hot", "bare"}},
                {"cpu", {"hot", "calm", "bare"}},
                {"mem_usage_p95_1h", {"calm", "bare", "hot"}}, /* what has expired is no value */
        };
        struct error err = ERROR_NULL;

        here.view.nodes[1].pods = 7;
        here.view.nodes[1].requested_ratio = 0.3;
        here.view.nodes[2].expected_ratio = 0.9;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(top_view_sort(&here.view, cases[i].key, &err), 0);
                for (size_t j = 0; j < 3; j++)
                        assert_string_equal(here.view.nodes[j].name, cases[i].names[j]);
        }
        assert_int_equal(top_view_sort(&here.view, "disk", &err), -EX_USAGE);
        assert_int_equal(top_view_sort(&here.view, "", &err), -EX_USAGE);
}

TEST_BETWEEN(sums, set_up, tear_down) {
        assert_int_equal(here.view.node_count, 3);
        assert_int_equal(here.view.passing, 2);
        assert_int_equal(here.view.over, 1);
        assert_int_equal(here.view.blind, 1);
}

static char *printed_of(const struct top_view *view, const struct style *style) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        top_view_print(view, style, false, false, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

static char *printed(const struct style *style) {
        return printed_of(&here.view, style);
}

TEST_BETWEEN(measured, set_up, tear_down) {
        static const struct {
                int measured;
                bool is_told;
        } rows[] = {{1300, false}, {1170, false}, {1169, true}, {0, true}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_object_set_new(
                        here.page, "pods",
                        json_pack("{s:i,s:i}", "bound", 1300, "measured", rows[i].measured));
                _cleanup_(freep) char *text = printed(
                        &(struct style){"", "", "", "", "", "", false, SIZE_MAX});
                _cleanup_(freep) char *line = xasprintf("%d of 1300 pods are measured; the others",
                                                        rows[i].measured);
                assert_int_equal(strstr(text, line) != NULL, rows[i].is_told);
        }
}

/* Every line of a narrow terminal fits, however narrow. */
TEST_BETWEEN(width, set_up, tear_down) {
        for (size_t width = 60; width < 140; width += 7) {
                const struct style style = {"", "", "", "", "", "", false, width};
                _cleanup_(freep) char *text = printed(&style);
                for (const char *at = text; *at && *at != '\n'; at += strcspn(at, "\n") + 1)
                        if (strcspn(at, "\n") > width)
                                fail_msg("width %zu: %.*s", width, (int)strcspn(at, "\n"), at);
        }
}

TEST_BETWEEN(json, set_up, tear_down) {
        json_auto_t *root = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(top_view_sort(&here.view, "cpu", &err), 0);
        root = top_view_json(&here.view);
        const json_t *first = json_array_get(json_at(root, "nodes", NULL), 0);
        assert_string_equal(json_string_at(first, "node", NULL), "hot");
        assert_string_equal(json_string_at(first, "over", NULL), "cpu_usage_avg_5m above 0.65");
}

/* Of some nodes. A page may be anything. */
TEST_BETWEEN(odd_pages, set_up, tear_down) {
        static const char *const pages[] = {
                "{}",
                "{\"nodes\": [], \"policy\": {\"metrics\": 3, \"pools\": {}}}",
                "{\"nodes\": [3, {}, {\"node\": 1}, {\"node\": \"\\ud800\"}, {\"node\": \"a\", "
                "\"metrics\": {\"m\": 1, \"n\": {\"used\": true}}, \"pool\": -1, \"score\": \"x\", "
                "\"requested\": {\"cpu\": 1}}], \"policy\": {\"scoring\": \"estimate\", "
                "\"metrics\": "
                "[{\"metric\": \"x_usage_max_1m\", \"used\": true, \"windowSeconds\": 1.5}, 1]}}",
        };
        json_auto_t *names = json_pack("{s:b}", "calm", true);
        struct top_view some;

        top_view_init(&some, here.page, names, "a file", false, true);
        assert_int_equal(some.node_count, 1);
        top_view_done(&some);
        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                json_auto_t *page = NULL;
                struct error err = ERROR_NULL;
                assert_int_equal(json_parse_rows(pages[i], strlen(pages[i]), "nodes", &page, &err),
                                 0);
                top_view_init(&some, page, NULL, "a file", true, true);
                assert_int_equal(some.node_count, i == 2);
                assert_int_equal(top_view_sort(&some, "y", &err), -EX_USAGE);
                assert_int_equal(top_view_sort(&some, "age", &err), 0);
                _cleanup_(freep) char *text = printed_of(
                        &some, &(struct style){"", "", "", "", "", "", false, SIZE_MAX});
                assert_true(i != 2 ||
                            strstr(text,
                                   "\na         -         -     -          -         -      -  "));
                json_decref(top_view_json(&some));
                top_view_done(&some);
        }
}
