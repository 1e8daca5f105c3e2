/* What is printed for programs and for terminals. */
#include "cmocka_wrap.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/verb/output.h"
#include "codec/json.h"

/* What was written to *@ret_out, once it is closed. */
static FILE *memory(char **ret_text) {
        static size_t len;
        FILE *out = open_memstream(ret_text, &len);

        assert_non_null(out);
        return out;
}

static void test_yaml(void **state) {
        static const struct {
                const char *json, *yaml;
        } rows[] = {
                {"{}", "{}\n"},
                {"[]", "[]\n"},
                {"[1, -2.5, true, null]", "- 1\n- -2.5\n- true\n- null\n"},
                {"{\"name\": \"a: b\\n\", \"y\": \"no\"}", "name: \"a: b\\n\"\n\"y\": \"no\"\n"},
                {"{\"list\": [], \"map\": {\"null\": {}}}", "list: []\n\"map\":\n  \"null\": {}\n"},
                {"[{\"name\": 1, \"items\": [[1], {\"left\": 2}]}]",
                 "- name: 1\n  items:\n  - - 1\n  - left: 2\n"},
                {"{\"a/b\": \"\\u001b[2J\"}", "\"a/b\": \"\\u001b[2J\"\n"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                json_auto_t *root = NULL;
                FILE *out = memory(&text);
                assert_int_equal(json_parse(rows[i].json, strlen(rows[i].json), &root, NULL), 0);
                output_document(root, OUTPUT_YAML, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].yaml);
        }
}

static void test_text(void **state) {
        static const struct {
                const char *text, *shown;
                size_t max;
        } rows[] = {
                {"node-a", "node-a", 6},
                {"node-ab", "node-~", 6},
                {"\x1b[2J", "?[2J", 9},
                {"caf\xc3\xa9", "caf??", 9},
                {"", "", 0},
                {"a", "", 0},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                FILE *out = memory(&text);
                size_t columns = output_text(rows[i].text, rows[i].max, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].shown);
                assert_int_equal(columns, strlen(rows[i].shown));
        }
}

static void test_bar(void **state) {
        static const struct {
                double ratio, limit_ratio;
                const char *shown;
        } rows[] = {
                {0, 0, "░░░░"},   {0.5, 0, "██░░"}, {7, 0, "████"},   {0.5, 0.75, "██░┃"},
                {1, 0.5, "██┃█"}, {0, 1, "░░░┃"},   {0.5, 2, "██░░"}, {-1, 0, "░░░░"},
        };
        const struct output_style plain = {"", "", "", "", "", "", true, SIZE_MAX};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                FILE *out = memory(&text);
                output_bar(rows[i].ratio, rows[i].limit_ratio, 4, &plain, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].shown);
        }
}

static void test_no_terminal(void **state) {
        _cleanup_(freep) char *text = NULL;
        FILE *out = memory(&text);
        struct output_style style = output_style(out);

        (void)state;
        assert_false(style.is_terminal);
        assert_string_equal(style.red, "");
        assert_true(style.width == SIZE_MAX);
        assert_int_equal(fclose(out), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_yaml),
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_bar),
                cmocka_unit_test(test_no_terminal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
