/* Messages of protobuf as JSON, by a table that has every kind of field. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "tests/unit/fixture/proto_encode.h"

static const char *const wanted_keys[] = {"cpu", "memory", NULL};

static const struct proto_member part_members[] = {
        {1, PROTO_STRING, "name", NULL, NULL},
        {2, PROTO_INT, "n", NULL, NULL},
};
static const struct proto_message part = PROTO_MESSAGE(part_members);

static const struct proto_member whole_members[] = {
        {1, PROTO_STRING, "text", NULL, NULL},
        {2, PROTO_BOOL, "flag", NULL, NULL},
        {3, PROTO_INT, "number", NULL, NULL},
        {4, PROTO_TIME, "time", NULL, NULL},
        {5, PROTO_OBJECT, "part", &part, NULL},
        {6, PROTO_LIST, "parts", &part, NULL},
        {7, PROTO_TEXTS, "all", NULL, NULL},
        {8, PROTO_TEXTS, "some", NULL, wanted_keys},
        {9, PROTO_QUANTITIES, "amounts", NULL, wanted_keys},
        {10, PROTO_LIST, "picked", &part, wanted_keys},
        {11, PROTO_STRINGS, "names", NULL, NULL},
        {12, PROTO_QUANTITY, "amount", NULL, NULL},
};
static const struct proto_message whole = PROTO_MESSAGE(whole_members);

/* From an exact copy, so that a read past the end is seen; NULL: refused. */
static char *convert(const char *data, size_t len, size_t max_bytes) {
        struct buf out = BUF_INIT(max_bytes);
        char *copy = xmalloc(len);

        if (len > 0)
                memcpy(copy, data, len);
        bool ok = proto_json_write(&out, &whole, copy, len);
        free(copy);
        if (ok)
                return buf_take(&out);
        buf_done(&out);
        return NULL;
}

#define ROW(bytes) bytes, sizeof(bytes) - 1

TEST(kinds) {
        static const struct {
                const char *data;
                size_t len;
                const char *json; /* NULL: refused */
        } rows[] = {
                {ROW(""), "{}"},
                {ROW("\x0a\x03"
                     "a\"b"),
                 "{\"text\":\"a\\\"b\"}"},
                {ROW("\x0a\x00"), "{}"}, /* as Go leaves empty strings out */
                /* the last one counts, also when it is empty */
                {ROW("\x0a\x01"
                     "a\x0a\x01"
                     "b"),
                 "{\"text\":\"b\"}"},
                {ROW("\x0a\x01"
                     "a\x0a\x00"),
                 "{}"},
                {ROW("\x0a\x02\xc3\xbc\x10\x01"), "{\"text\":\"\xc3\xbc\",\"flag\":true}"},
                {ROW("\x0a\x02\x00\xff"), "{\"text\":\"\\u0000\\ufffd\"}"},
                {ROW("\x10\x00"), "{\"flag\":false}"},
                {ROW("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "{\"number\":-1}"},
                /* seconds and nanoseconds */
                {ROW("\x22\x0c\x08\xa2\xca\x87\xd3\x06\x10\x80\xca\xb5\xee\x01"),
                 "{\"time\":\"2026-07-23T09:55:46Z\"}"},
                {ROW("\x22\x00"), "{\"time\":null}"}, /* Go's zero time */
                {ROW("\x22\x07\x08\xff\xff\xff\xff\xff\x7f"), "{\"time\":null}"}, /* no such year */
                {ROW("\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "{\"time\":null}"},
                /* seconds of another type are none */
                {ROW("\x22\x05\x0d\x01\x01\x01\x01"), "{\"time\":null}"},
                {ROW("\x2a\x05\x0a\x01"
                     "x\x10\x07"),
                 "{\"part\":{\"name\":\"x\",\"n\":7}}"},
                {ROW("\x2a\x00"), "{\"part\":{}}"},
                /* what stands between the items belongs to no one */
                {ROW("\x32\x02\x10\x01\x3a\x00\x32\x00\xca\x3e\x00\x32\x02\x10\x02"),
                 "{\"parts\":[{\"n\":1},{},{\"n\":2}],\"all\":{\"\":\"\"}}"},
                {ROW("\x3a\x06\x0a\x01k\x12\x01v\x3a\x03\x0a\x01l"),
                 "{\"all\":{\"k\":\"v\",\"l\":\"\"}}"},
                {ROW("\x42\x06\x0a\x01k\x12\x01v\x42\x08\x12\x01v\x0a\x03"
                     "cpu"),
                 "{\"some\":{\"cpu\":\"v\"}}"},
                {ROW("\x42\x06\x0a\x01k\x12\x01v"), "{\"some\":{}}"},
                /* as long as a wanted key */
                {ROW("\x42\x05\x0a\x03"
                     "gpu"),
                 "{\"some\":{}}"},
                /* keys, values and names of another type are none, nor are fields of other numbers
                 */
                {ROW("\x3a\x07\x08\x05\x10\x05\x1a\x01x"), "{\"all\":{\"\":\"\"}}"},
                {ROW("\x4a\x0c\x0a\x03"
                     "cpu\x12\x05\x08\x05\x12\x01x"),
                 "{\"amounts\":{\"cpu\":\"\"}}"},
                {ROW("\x4a\x0c\x0a\x03"
                     "cpu\x12\x05\x0a\x03"
                     "25m\x4a\x0a\x0a\x06memory\x12\x00"),
                 "{\"amounts\":{\"cpu\":\"25m\",\"memory\":\"\"}}"},
                /* of these items, those of the wanted names */
                {ROW("\x52\x05\x0a\x01z\x10\x01\x52\x07\x10\x02\x0a\x03"
                     "cpu\x52\x02\x10\x03"),
                 "{\"picked\":[{\"name\":\"cpu\",\"n\":2}]}"},
                {ROW("\x52\x00"), "{\"picked\":[]}"},
                {ROW("\x52\x01\x0a"), NULL},
                {ROW("\x5a\x01\x78\x10\x01\x5a\x00\x5a\x02"
                     "\"y"),
                 "{\"flag\":true,\"names\":[\"x\",\"\",\"\\\"y\"]}"},
                {ROW("\x62\x05\x0a\x03"
                     "25m"),
                 "{\"amount\":\"25m\"}"},
                {ROW("\x62\x02\x10\x01"), "{\"amount\":\"\"}"},
                {ROW("\x62\x01\x0a"), NULL},
                {ROW("\x58\x01"), NULL},
                {ROW("\x60\x01"), NULL},
                /* unknown fields of all types */
                {ROW("\xd2\x3e\x01\xff\xd8\x3e\x01\xdd\x3e\xff\xff\xff\xff\x10\x01"),
                 "{\"flag\":true}"},
                /* of another type than the table's */
                {ROW("\x08\x01"), NULL},
                {ROW("\x12\x01\x01"), NULL},
                {ROW("\x30\x01"), NULL},
                {ROW("\x32\x00\x30\x01"), NULL},
                /* malformed, at each level */
                {ROW("\x10\x01\x0b"), NULL},
                {ROW("\x22\x01\x08"), NULL},
                {ROW("\x22\x07\x08\xa2\xca\x87\xd3\x06\x08"), NULL},
                {ROW("\x2a\x01\x0a"), NULL},
                {ROW("\x32\x00\x32\x01\x0a"), NULL},
                {ROW("\x3a\x01\x0a"), NULL},
                {ROW("\x4a\x08\x0a\x03"
                     "cpu\x12\x01\x0a"),
                 NULL},
                /* of what is not read, only the length counts */
                {ROW("\x4a\x06\x0a\x01z\x12\x01\x0a"), "{\"amounts\":{}}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *json = convert(rows[i].data, rows[i].len, 1 << 10);
                if ((json == NULL) != (rows[i].json == NULL) ||
                    (json && strcmp(json, rows[i].json) != 0))
                        fail_msg("row %zu gave '%s', not '%s'", i, json ? json : "(refused)",
                                 rows[i].json ? rows[i].json : "(refused)");
                free(json);
        }
}

TEST(ceiling) {
        static const char data[] =
                "\x0a\x01"
                "a\x10\x01\x18\x07\x22\x06\x08\xa2\xca\x87\xd3\x06\x2a\x02\x10\x01\x32\x02\x10\x02"
                "\x32\x02\x10\x03\x3a\x06\x0a\x01k\x12\x01v\x3a\x06\x0a\x01l\x12\x01w"
                "\x62\x03\x0a\x01"
                "7";
        char *json = convert(data, sizeof(data) - 1, 1 << 10);

        assert_non_null(json);
        for (size_t max_bytes = 0; max_bytes <= strlen(json); max_bytes++) {
                char *again = convert(data, sizeof(data) - 1, max_bytes);
                assert_int_equal(again != NULL, max_bytes == strlen(json));
                free(again);
        }
        free(json);
        for (size_t max_bytes = 0; max_bytes < strlen("{}"); max_bytes++)
                assert_null(convert("", 0, max_bytes));
        for (size_t max_bytes = 0; max_bytes < strlen("{\"time\":null}"); max_bytes++)
                assert_null(convert("\x22\x00", 2, max_bytes));
}
