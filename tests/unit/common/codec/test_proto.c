/* The wire format of protobuf, field by field. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/proto.h"

/* The fields as text: "2=150 3:abc 4# ." for a varint, bytes, a fixed number and the end; "!" when
 * it is malformed. From an exact copy, so that a read past the end is seen. */
static void describe(const char *data, size_t len, struct buf *out) {
        char *copy = xmalloc(len);
        struct proto_field field;
        enum proto_step step;
        struct proto proto;

        if (len > 0)
                memcpy(copy, data, len);
        proto_init(&proto, copy, len);
        while ((step = proto_next(&proto, &field)) == PROTO_MORE) {
                (void)buf_printf(out, "%u", field.number);
                if (field.wire == PROTO_VARINT)
                        (void)buf_printf(out, "=%llu ", (unsigned long long)field.varint);
                else if (field.wire == PROTO_BYTES)
                        (void)buf_printf(out, ":%.*s ", (int)field.len, field.bytes);
                else
                        (void)buf_puts(out, "# ");
        }
        (void)buf_putc(out, step == PROTO_END ? '.' : '!');
        free(copy);
}

#define ROW(bytes) bytes, sizeof(bytes) - 1

TEST(fields) {
        static const struct {
                const char *data;
                size_t len;
                const char *fields;
        } rows[] = {
                {ROW(""), "."},
                {ROW("\x08\x96\x01"), "1=150 ."},
                {ROW("\x12\x03"
                     "abc\x08\x01"),
                 "2:abc 1=1 ."},
                {ROW("\x12\x00"), "2: ."},
                {ROW("\x0d"
                     "abcd\x09"
                     "12345678\x08\x00"),
                 "1# 1# 1=0 ."},
                /* the largest field number, and one more */
                {ROW("\xf8\xff\xff\xff\x0f\x07"), "536870911=7 ."},
                {ROW("\x80\x80\x80\x80\x10\x07"), "!"},
                {ROW("\x00\x07"), "!"}, /* number 0 */
                /* a negative number takes ten bytes; the eleventh is one too many */
                {ROW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "1=18446744073709551615 ."},
                {ROW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "!"},
                {ROW("\x08\x80\x00"), "1=0 ."}, /* longer than it must be */
                /* groups, and wire types that do not exist */
                {ROW("\x0b\x0c"), "!"},
                {ROW("\x0c"), "!"},
                {ROW("\x0e\x01"), "!"},
                {ROW("\x0f\x01"), "!"},
                /* cut off */
                {ROW("\x08"), "!"},
                {ROW("\x08\x96"), "!"},
                {ROW("\x88"), "!"},
                {ROW("\x12"), "!"},
                {ROW("\x12\x04"
                     "abc"),
                 "!"},
                {ROW("\x0d"
                     "abc"),
                 "!"},
                {ROW("\x09"
                     "1234567"),
                 "!"},
                {ROW("\x08\x01\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                     "abc"),
                 "1=1 !"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf fields = BUF_INIT(1 << 10);
                describe(rows[i].data, rows[i].len, &fields);
                if (strcmp(fields.data, rows[i].fields) != 0)
                        fail_msg("row %zu gave '%s', not '%s'", i, fields.data, rows[i].fields);
                buf_done(&fields);
        }
}
