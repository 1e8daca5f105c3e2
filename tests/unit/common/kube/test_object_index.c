/* Which objects an index takes, and when one counts as the same. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "codec/json.h"
#include "kube/object_index.h"
#include "tests/unit/fixture/rows.h"

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

static void show(const char *text, size_t len, struct buf *out) {
        struct object_index index = {.max_objects = 1};
        bool ok = see(&index, text) == OBJECT_NEW;

        assert_int_equal(see(&index, text), ok ? OBJECT_SAME : OBJECT_UNUSABLE);
        assert_int_equal(index.entries.len, ok);
        assert_int_equal(remove_one(&index, text), ok);
        assert_int_equal(index.entries.len, 0);
        object_index_done(&index);
        buf_puts(out, ok ? "usable" : "-");
}

TEST(identities) {
        rows_check("object-identities.tsv", show);
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
