/* Which objects an index takes, and when one counts as the same. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/object_index.h"

#define LETTERS_32 "abcdefghijklmnopqrstuvwxyzabcdef"
#define LETTERS_128 LETTERS_32 LETTERS_32 LETTERS_32 LETTERS_32
#define LETTERS_256 LETTERS_128 LETTERS_128
#define OBJECT(metadata) "{\"metadata\":{" metadata "},\"spec\":1}"

static enum object_sight see(struct object_index *index, const char *text) {
        json_auto_t *object = NULL;
        json_t *old = NULL;
        uint64_t hash;

        assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
        (void)object_index_is_same(index, text, strlen(text), &hash);
        enum object_sight sight = object_index_see(index, object, hash, &old);
        assert_int_equal(old != NULL, sight == OBJECT_REPLACED);
        json_decref(old);
        return sight;
}

static bool is_same(struct object_index *index, const char *text) {
        uint64_t hash;

        return object_index_is_same(index, text, strlen(text), &hash);
}

static bool remove_one(struct object_index *index, const char *text) {
        json_auto_t *object = NULL;

        assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
        return object_index_remove(index, object);
}

TEST(identities) {
        static const struct {
                const char *text;
                bool is_usable;
        } rows[] = {
                {OBJECT("\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"u\""), true},
                {OBJECT("\"name\":\"a\""), true}, /* of the cluster; without a uid */
                {OBJECT("\"name\":\"" LETTERS_128 "\",\"uid\":\"" LETTERS_128 "\""), true},
                {OBJECT("\"name\":\"" LETTERS_256 "\""), false},
                {OBJECT("\"name\":\"a/b\""), false},
                {OBJECT("\"name\":\"\""), false},
                {OBJECT("\"name\":7"), false},
                {OBJECT("\"name\":\"a\",\"namespace\":\"d/e\""), false},
                {OBJECT("\"name\":\"a\",\"namespace\":\"" LETTERS_256 "\""), false},
                {OBJECT("\"name\":\"a\",\"uid\":\"u/v\""), false},
                {OBJECT("\"name\":\"a\",\"uid\":\"" LETTERS_128 "x\""), false},
                {"{\"metadata\":7}", false},
                {"{}", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct object_index index = {.max_objects = 1};
                bool ok = rows[i].is_usable;
                if (see(&index, rows[i].text) != (ok ? OBJECT_NEW : OBJECT_UNUSABLE) ||
                    is_same(&index, rows[i].text) != ok || index.entries.len != ok ||
                    remove_one(&index, rows[i].text) != ok || index.entries.len != 0)
                        fail_msg("row %zu", i);
                object_index_done(&index);
        }
}

/* Against an object that is held; what only jansson reads is never the same. */
TEST(same) {
#define HELD(version, rest)                                                                        \
        "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"u\","       \
        "\"resourceVersion\":" version "}" rest
        static const struct {
                const char *text;
                bool is_same;
        } rows[] = {
                {HELD("\"1\"", "}"), true},
                {HELD("\"22\"", "}"), true},
                {HELD("\"1\"", ",\"spec\":{}}"), false},
                {HELD("1", "}"), false}, /* is not left out of the text */
                {"{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\",\"namespace\":\"d\",\"uid\":"
                 "\"u\","
                 "\"resourceVersion\":\"1\"}}",
                 false},
                {"{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":"
                 "\"v\","
                 "\"resourceVersion\":\"1\"}}",
                 false},
                {"{\"kind\":\"Node\",\"metadata\":{\"n\\u0061me\":\"a\"}}", false},
                {"{\"kind\":\"Node\",\"metadata\":{\"name\":\"\\u0061\",\"namespace\":\"d\"}}",
                 false},
                {"{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"namespace\":\"" LETTERS_256
                 "\"}}",
                 false},
                {OBJECT("\"name\":\"a\",\"namespace\":\"" LETTERS_256 LETTERS_256 "\""), false},
                {OBJECT("\"name\":\"" LETTERS_256 LETTERS_256 "\""), false},
                {"{\"metadata\":7}", false},
                {"{\"kind\":\"Node\"}", false},
                /* not even JSON */
                {"{\"metadata\":{\"name\":x}}", false},
                {"{\"kind\":x}", false},
                {"{\"kind", false},
        };
        static const char held[] = HELD("\"1\"", "}");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct object_index index = {.max_objects = 1};
                json_t *gone;
                size_t position = 0;
                assert_int_equal(see(&index, held), OBJECT_NEW);
                index.generation++;
                if (is_same(&index, rows[i].text) != rows[i].is_same)
                        fail_msg("row %zu", i);
                /* Then it has been seen in this list. */
                gone = object_index_sweep(&index, &position);
                assert_int_equal(gone == NULL, rows[i].is_same);
                json_decref(gone);
                object_index_done(&index);
        }
}
