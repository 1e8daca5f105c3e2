/* Messages of protobuf as JSON, by a table that has every kind of field. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "tests/unit/fixture/proto_encode.h"
#include "tests/unit/fixture/rows.h"

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

TEST(kinds) {
        for (struct rows rows = rows_open("proto-json.tsv"); rows_next(&rows);) {
                _cleanup_(freep) char *json = convert(rows.cells[0], rows_bytes(rows.cells[0]),
                                                      1 << 10);
                const char *written = json ? json : "-";
                if (strcmp(written, rows_unescape(rows.cells[1])) != 0)
                        fail_msg("%s: %s", rows.place, written);
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
