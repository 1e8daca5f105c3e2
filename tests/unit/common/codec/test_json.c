/* JSON by jansson: errors with a place, and look-ups that survive any type. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/json.h"
#include "tests/unit/fixture/last_words.h"

TEST(parse) {
        static const struct {
                const char *text, *msg; /* msg NULL: accepted */
        } rows[] = {
                {"{}", NULL},
                {" [1, 2.5, null] \n", NULL},
                {"\"text\"", NULL}, /* any value, not only containers */
                {"\"a\\u0000b\"", NULL},
                {"", "line 1, column 1: no JSON value: the text is empty"},
                {"{\"a\": 1", "line 1, column 7: '}' expected near end of file"},
                {"{\n\"a\" 1}", "line 2, column 5: ':' expected near '1'"},
                {"{} x", "line 1, column 4: end of file expected near 'x'"},
                {"[1,]", "line 1, column 4: unexpected token near ']'"},
                {"[\"\\ud800\"]", "line 1, column 9: invalid Unicode '\\uD800' near '\"\\ud800\"'"},
                {"[\"\xff\"]", "line 1, column 2: unable to decode byte 0xff near '\"'"},
                {"nan", "line 1, column 3: invalid token near 'nan'"},
                /* It may be a secret: no more than 20 characters are repeated. */
                {"abcdefghijklmnopqrst",
                 "line 1, column 20: invalid token near 'abcdefghijklmnopqrst'"},
                {"abcdefghijklmnopqrstu", "line 1, column 21: invalid token"},
                {"[\"abcdefghijklmnopqrst", "line 1, column 22: premature end of input"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                json_t *json = NULL;
                int r = json_parse(rows[i].text, strlen(rows[i].text), &json, &err);
                if (rows[i].msg) {
                        assert_int_equal(r, -EINVAL);
                        assert_null(json);
                        if (strcmp(err.msg, rows[i].msg) != 0)
                                fail_msg("row %zu: '%s', expected '%s'", i, err.msg, rows[i].msg);
                } else if (r < 0) {
                        fail_msg("row %zu: %s", i, err.msg);
                }
                json_decref(json);
        }
}

/* jansson skips NUL bytes between tokens, so that "17 NUL" would be good JSON. */
TEST(raw_nul) {
        static const struct {
                const char *text;
                size_t len;
                const char *msg;
        } rows[] = {
                {"[17\0]", 5, "line 1, column 4: a NUL byte"},
                {"{}\0", 3, "line 1, column 3: a NUL byte"},
                {"\0[]", 3, "line 1, column 1: a NUL byte"},
                {"[\n\"\xc3\xa9\0\"]", 8, "line 2, column 3: a NUL byte"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                json_t *json = NULL;
                assert_int_equal(json_parse(rows[i].text, rows[i].len, &json, &err), -EINVAL);
                assert_null(json);
                assert_string_equal(err.msg, rows[i].msg);
        }
}

TEST(at) {
        static const char text[] =
                "{\"spec\": {\"nodeName\": \"node-a\", \"count\": 7, \"real\": 7.0,"
                "\"null\": null, \"nul\": \"a\\u0000b\"}, \"list\": [1]}";
        struct error err = ERROR_NULL;
        json_auto_t *json = NULL;

        assert_int_equal(json_parse(text, strlen(text), &json, &err), 0);
        assert_ptr_equal(json_at(json, NULL), json);
        assert_true(json_is_object(json_at(json, "spec", NULL)));
        assert_null(json_at(json, "spec", "missing", "deeper", NULL));
        assert_null(json_at(json, "spec", "nodeName", "deeper", NULL)); /* a string has no keys */
        assert_null(json_at(json, "list", "0", NULL));
        assert_null(json_at(NULL, "spec", NULL));
        assert_string_equal(json_string_at(json, "spec", "nodeName", NULL), "node-a");
        assert_null(json_string_at(json, "spec", "count", NULL));
        assert_null(json_string_at(json, "spec", "null", NULL));
        assert_null(json_string_at(json, "spec", "nul", NULL)); /* would end at its NUL */
        assert_int_equal(json_int_at(-1, json, "spec", "count", NULL), 7);
        assert_int_equal(json_int_at(-1, json, "spec", "real", NULL), -1);
        assert_int_equal(json_int_at(-1, json, "spec", "nodeName", NULL), -1);
        assert_int_equal(json_int_at(-1, NULL, "spec", NULL), -1);
}

/* malloc() as it is, until so many allocations have been made. */
static size_t allocations_left = SIZE_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
        return allocations_left-- > 0 ? __real_malloc(size) : NULL;
}

static size_t allowance;

static void parse_without_memory(void) {
        static const char text[] = "{\"a\": [1, \"b\"]}";
        struct error err = ERROR_NULL;
        json_t *json = NULL;

        allocations_left = allowance;
        int r = json_parse(text, strlen(text), &json, &err);
        (void)r;
}

TEST(out_of_memory) {
        for (allowance = 0; allowance < 8; allowance++)
                check_aborts(parse_without_memory, "level=error msg=\"out of memory\"\n");
}

TEST(text_of_a_member) {
        json_auto_t *root = json_loads(
                "{\"a\": [1, {\"k\": 2}, {\"k\": \"xy\\u0000\"}, {\"k\": \"xy\"},"
                " {\"k\": \"xy\", \"n\": 1}, \"xy\"]}",
                JSON_ALLOW_NUL, NULL);
        const json_t *array = json_at(root, "a", NULL);

        assert_non_null(root);
        assert_ptr_equal(json_find_at("xy", array, "k", NULL), json_array_get(array, 3));
        assert_ptr_equal(json_find_at("xy", array, NULL), json_array_get(array, 5));
        assert_null(json_find_at("x", array, "k", NULL));
        assert_null(json_find_at("xy", root, "k", NULL));
        assert_true(json_is_at("xy", json_array_get(array, 3), "k", NULL));
        assert_false(json_is_at("x", json_array_get(array, 3), "k", NULL));
        assert_false(json_is_at("xy", json_array_get(array, 2), "k", NULL));
        assert_false(json_is_at("xy", NULL, "k", NULL));
}
