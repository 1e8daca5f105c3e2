/* What `top` shows of a controller's status page. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/top/top_status.h"
#include "cli/top/top_view.h"
#include "codec/json.h"

#define POLICY                                                                                     \
        "'policy': {'metrics': [{'name': 'cpu_usage_avg_5m', 'windowSeconds': 300, 'weight': 1, "  \
        "'limit': 0.8}, {'name': 'mine', 'weight': 0}], 'pools': [{'limits': [0.5, null]}]}"

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};

/* With ' in place of "; owned by the caller. */
static json_t *page_of(const char *status) {
        _cleanup_(freep) char *text = xstrdup(status);
        json_auto_t *json = NULL;

        for (char *at = text; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
        return top_status_page(json);
}

static char *print(const json_t *page) {
        _cleanup_(top_view_done) struct top_view view;
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        top_view_init(&view, page, NULL, "a controller", true, true);
        top_view_print(&view, &plain, true, false, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

TEST(nodes) {
        static const struct {
                const char *node, *line;
        } rows[] = {
                {"'verdict': 'passes', 'usage': [0.21, null], 'ageSeconds': 3",
                 "n         -           21%      -       0     3s  ok"},
                {"'verdict': 'passes', 'usage': [0.21, 0.5], 'taintLevel': 2, 'hot': 1",
                 "n         -           21%    50%       1     0s  ok, 2 taints of load"},
                {"'verdict': 'rejected', 'reason': 'cpu above', 'usage': [0.91, null]",
                 "n         -           91%      -       0     0s  cpu above"},
                {"'verdict': 'passes', 'reason': 'cpu above', 'usage': [0.91, null]",
                 "n         -           91%      -       0     0s  cpu above; comes last"},
                {"'verdict': 'closed', 'reason': 'cordoned', 'usage': [0.3, null]",
                 "n         -           30%      -       0     0s  cordoned"},
                {"'verdict': 'unknown', 'reason': 'timeout', 'usage': [null, null]",
                 "n         -             -      -       0      -  passes, no usable value"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *status = xasprintf("{" POLICY ", 'nodes': [{'name': 'n', "
                                                          "%s}]}",
                                                          rows[i].node);
                json_auto_t *page = page_of(status);
                _cleanup_(freep) char *text = print(page);
                if (!strstr(text, rows[i].line))
                        fail_msg("row %zu: %s", i, text);
        }
}

/* The limits of a pool, and all nodes above one. */
TEST(limits) {
        json_auto_t *page = page_of("{" POLICY ", 'isAllOver': true, 'nodes': [{'name': 'n', "
                                    "'pool': 1, 'verdict': 'passes', 'reason': 'cpu above', "
                                    "'usage': [0.7, null]}]}");
        _cleanup_(top_view_done) struct top_view view;
        _cleanup_(freep) char *text = print(page);

        assert_non_null(strstr(text, "CPU 5m <=80%   mine"));
        assert_non_null(strstr(text, "cpu above; passes, since all are"));
        top_view_init(&view, page, NULL, "", true, true);
        assert_true(top_view_limit(&view, &view.nodes[0], "cpu_usage_avg_5m") == 0.5);
}

/* -o json prints what the controller said. */
TEST(document) {
        json_auto_t *page = page_of("{" POLICY ", 'role': 'writer', 'nodes': [{'name': 'b'}, "
                                    "{'name': 'a', 'score100': 7}]}");
        _cleanup_(top_view_done) struct top_view view;
        struct error err = ERROR_NULL;

        top_view_init(&view, page, NULL, "", false, true);
        assert_int_equal(top_view_sort(&view, "name", &err), 0);
        json_auto_t *document = top_view_json(&view);
        assert_string_equal(json_string_at(document, "role", NULL), "writer");
        const json_t *first = json_array_get(json_at(document, "nodes", NULL), 0);
        assert_int_equal(json_int_at(0, first, "score100", NULL), 7);
        assert_null(json_at(first, "metrics", NULL));
}

TEST(hostile_pages) {
        static const char *const pages[] = {
                "{}",
                "{'policy': 7, 'nodes': 7}",
                "{'policy': {'metrics': [7, {'name': 7}, {}], 'pools': [7, {'limits': {}}]}}",
                "{'nodes': [7, {}, {'name': 'n', 'usage': 7, 'reason': 7, 'verdict': 'closed'}]}",
        };

        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                json_auto_t *page = page_of(pages[i]);
                _cleanup_(freep) char *text = print(page);
                assert_non_null(strstr(text, "; by a controller\n"));
        }
}
