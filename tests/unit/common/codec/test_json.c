/* JSON by jansson: errors with a place, and look-ups that survive any type. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/json.h"
#include "tests/unit/fixture/last_words.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        struct error err = ERROR_NULL;
        json_t *json = NULL;
        int r = json_parse(text, len, &json, &err);

        assert_int_equal(r, *err.msg ? -EINVAL : 0);
        assert_int_equal(json != NULL, r == 0);
        buf_puts(out, err.msg);
        json_decref(json);
}

TEST(parse) {
        rows_check("json-texts.tsv", show);
}

/* Rows are as they stand there, and the rest is a tree. Of what is no JSON, nothing is. */
TEST(rows) {
        static const struct {
                const char *text, *key, *tree; /* NULL: refused */
        } cases[] = {
                {"{\"a\": 1, \"n\": [{\"k\": [ 2]}, 3 ], \"z\": []}", "n",
                 "{\"a\":1,\"n\":[\"{\\\"k\\\": [ 2]}\",\"3\"],\"z\":[]}"},
                {"{\"n\": []}", "n", "{\"n\":[]}"},
                {"{\"a\": {\"n\": [1]}}", "n", "{\"a\":{\"n\":[1]}}"}, /* not of the document */
                {"{\"n\": {\"a\": 1}}", "n", "{\"n\":{\"a\":1}}"},     /* no array */
                {"{\"n\": [1]}", NULL, "{\"n\":[1]}"},
                {"[1]", "n", "[1]"},
                {"", "n", NULL},
                {"{\"n\": [1, x]}", "n", NULL},
                {"{\"n\": [1 2]}", "n", NULL},
                {"{\"n\": [1,", "n", NULL},
                {"{\"n\": [1]", "n", NULL},
                {"{\"n\": [1]} 2", "n", NULL},
                {"{\"a\": x, \"n\": [1]}", "n", NULL},
                {"{\"n\": [\"\xff\"]}", "n", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *text = cases[i].text;
                json_auto_t *json = NULL;
                struct error err = ERROR_NULL;
                int r = json_parse_rows(text, strlen(text), cases[i].key, &json, &err);
                char *tree = r == 0 ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
                assert_int_equal(r, cases[i].tree ? 0 : -EINVAL);
                if (r == 0)
                        assert_string_equal(tree, cases[i].tree);
                free(tree);
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
