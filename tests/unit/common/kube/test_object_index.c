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
        json_t *old = NULL;
        enum object_sight sight = object_index_see(index, text, strlen(text), &old);

        assert_int_equal(old != NULL, sight == OBJECT_REPLACED);
        json_decref(old);
        return sight;
}

static bool remove_one(struct object_index *index, const char *text) {
        return object_index_remove(index, text, strlen(text));
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
                {OBJECT("\"name\":\"\\u0061\""), false},
                {OBJECT("\"n\\u0061me\":\"a\""), true},
                {OBJECT("\"name\":\"a\",\"uid\":\"\\u0061\""), false},
                {OBJECT("\"name\":\"" LETTERS_256 LETTERS_256 "\""), false},
                {"{\"metadata\":7}", false},
                {"{}", false},
                /* not even JSON */
                {"{\"metadata\":{\"name\":x}}", false},
                {"{\"kind\":x}", false},
                {"{\"kind", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct object_index index = {.max_objects = 1};
                bool ok = rows[i].is_usable;
                if (see(&index, rows[i].text) != (ok ? OBJECT_NEW : OBJECT_UNUSABLE) ||
                    (see(&index, rows[i].text) == OBJECT_SAME) != ok || index.entries.len != ok ||
                    remove_one(&index, rows[i].text) != ok || index.entries.len != 0)
                        fail_msg("row %zu", i);
                object_index_done(&index);
        }
}

/* Against an object that is held. */
TEST(same) {
#define HELD(version, rest)                                                                        \
        "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"u\","       \
        "\"resourceVersion\":" version "}" rest
        static const struct {
                const char *text;
                enum object_sight sight;
        } rows[] = {
                {HELD("\"1\"", "}"), OBJECT_SAME},
                {HELD("\"22\"", "}"), OBJECT_SAME},
                {HELD("\"1\"", ",\"spec\":{}}"), OBJECT_KNOWN},
                {HELD("1", "}"), OBJECT_KNOWN}, /* is not left out of the text */
                {OBJECT("\"name\":\"b\",\"namespace\":\"d\",\"uid\":\"u\""), OBJECT_OVER_LIMIT},
                {OBJECT("\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"v\""), OBJECT_REPLACED},
                {"{\"kind\":\"Node\"}", OBJECT_UNUSABLE},
        };
        static const char held[] = HELD("\"1\"", "}");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct object_index index = {.max_objects = 1};
                json_t *gone;
                size_t position = 0;
                bool is_held = rows[i].sight < OBJECT_UNUSABLE;
                assert_int_equal(see(&index, held), OBJECT_NEW);
                index.generation++;
                if (see(&index, rows[i].text) != rows[i].sight)
                        fail_msg("row %zu", i);
                /* Then it has been seen in this list. */
                gone = object_index_sweep(&index, &position);
                assert_int_equal(gone == NULL, is_held);
                json_decref(gone);
                object_index_done(&index);
        }
}
