/* The wire format of protobuf, field by field. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/proto.h"
#include "tests/unit/fixture/rows.h"

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

TEST(fields) {
        for (struct rows rows = rows_open("proto-fields.tsv"); rows_next(&rows);) {
                struct buf fields = BUF_INIT(1 << 10);
                describe(rows.cells[0], rows_bytes(rows.cells[0]), &fields);
                if (strcmp(fields.data, rows.cells[1]) != 0)
                        fail_msg("%s: '%s'", rows.place, fields.data);
                buf_done(&fields);
        }
}
