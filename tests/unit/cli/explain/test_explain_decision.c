/* What people are shown of an extender's answer, whatever the JSON is. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/explain/explain_decision.h"
#include "codec/json.h"
#include "tests/unit/fixture/rows.h"

#define POD(node) ("{\"metadata\": {\"uid\": \"1\"}, \"spec\": {\"nodeName\": \"" node "\"}}")

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};

static json_t *parse(const char *text) {
        json_t *json = NULL;
        struct error err = ERROR_NULL;

        if (json_parse(text, strlen(text), &json, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return json;
}

static char *print(const char *decision, const char *pod, size_t max_nodes) {
        json_auto_t *json = parse(decision), *where = pod ? parse(pod) : NULL;
        const struct explain_place place = {.full_name = "shop/web-0", .pod = where};
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        explain_decision_print(json, &place, max_nodes, &plain, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

TEST(prints) {
        for (struct rows rows = rows_open("decisions.tsv"); rows_next(&rows);) {
                const char *node = rows.cells[0];
                _cleanup_(freep) char *pod = xasprintf(POD("%s"), node);
                _cleanup_(freep) char *shown = print(rows_unescape(rows.cells[1]),
                                                     strcmp(node, "-") == 0 ? NULL : pod, SIZE_MAX);
                const char *expected = rows_unescape(rows.cells[2]);
                if (strcmp(shown, expected) != 0)
                        fail_msg("%s: %s", rows.place, shown);
        }
}

TEST(prints_some_of_each) {
        static const char two[] =
                "{\"filter\": {\"predicates\": [{\"metric\": \"m\"}, {\"metric\": \"n\"}],"
                " \"rejectedNodes\": [{\"node\": \"x\"}, {\"node\": \"y\"}]},"
                " \"prioritize\": {\"bestNodes\": [{\"node\": \"a\", \"priorities\":"
                " [{\"metric\": \"s\"}, {\"metric\": \"t\"}]}, {\"node\": \"b\"}]}}";
        static const char *const lines[][2] = {{"  ? over m ", "  ? over n "},
                                               {"  x: rejected", "  y: rejected"},
                                               {"\na: passes", "\nb: passes"}};
        _cleanup_(freep) char *one = print(two, NULL, 1), *all = print(two, NULL, 2);

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                assert_non_null(strstr(one, lines[i][0]));
                assert_null(strstr(one, lines[i][1]));
                assert_non_null(strstr(all, lines[i][1]));
        }
        /* All terms of a node, so that they add up to its score. */
        assert_non_null(strstr(one, "  term   s "));
        assert_non_null(strstr(one, "  term   t "));
}

/* None of them crashes, and nothing of a terminal's escapes gets through. */
TEST(prints_anything) {
        static const char *const pods[] = {NULL, "[]", "{}", POD("a"), "{\"spec\": 1}"};

        for (struct rows rows = rows_open("odd-decisions.tsv"); rows_next(&rows);) {
                (void)rows_unescape(rows.cells[0]);
                for (size_t j = 0; j < ARRAY_LEN(pods); j++) {
                        _cleanup_(freep) char *shown = print(rows.cells[0], pods[j], SIZE_MAX);
                        assert_null(strchr(shown, '\033'));
                        assert_non_null(strstr(shown, "filter"));
                }
        }
}

TEST(newer) {
        for (struct rows rows = rows_open("newer-decisions.tsv"); rows_next(&rows);)
                for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
                        /* Of two without a time either is as good. */
                        if (strcmp(rows.cells[1], "[]") == 0 && is_swapped)
                                continue;
                        json_t *a = parse(rows.cells[is_swapped]);
                        json_t *b = parse(rows.cells[!is_swapped]);
                        json_auto_t *newer = explain_decision_newer(a, b);
                        json_auto_t *expected = parse(rows.cells[2]);
                        assert_true(json_equal(newer, expected));
                }
        json_auto_t *only = explain_decision_newer(NULL, parse("{}"));
        assert_true(json_is_object(only));
}

TEST(place) {
        static const struct {
                const char *pod, *shown;
        } cases[] = {
                {"{\"spec\": {\"nodeName\": \"a\"}, \"status\": {\"phase\": \"Running\"}}",
                 "shop/web-0: on a, Running\n"},
                {"{\"spec\": {\"nodeName\": \"\\u001b\"}}", "shop/web-0: on ?, phase unknown\n"},
                {"{\"status\": {\"conditions\": [1, {\"type\": \"Ready\", \"message\": \"no\"},"
                 " {\"type\": \"PodScheduled\", \"message\": \"0/3 nodes\\nare\"}]}}",
                 "shop/web-0: pending: 0/3 nodes?are\n"},
                {"[]", "shop/web-0: pending: the scheduler gives no reason\n"},
                {NULL, "shop/web-0: its node is unknown: 404 gone\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                json_auto_t *pod = cases[i].pod ? parse(cases[i].pod) : NULL;
                struct explain_place place = {.full_name = "shop/web-0", .pod = pod};
                _cleanup_(freep) char *text = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&text, &len);
                (void)error_set(&place.why_not, 1, "404 gone");
                assert_non_null(out);
                explain_place_print(&place, &plain, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, cases[i].shown);
                json_auto_t *json = explain_place_json(&place);
                assert_string_equal(json_string_at(json, "pod", NULL), "shop/web-0");
        }
}
