/* The growing buffer: its ceiling, its NUL, JSON strings. */
#include "tests/unit/fixture/test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "tests/unit/fixture/rows.h"

static void check_invariants(const struct buf *buf) {
        assert_true(buf->len <= buf->max_bytes);
        if (buf->data) {
                assert_true(buf->len < buf->cap);
                assert_int_equal(buf->data[buf->len], '\0');
        } else {
                assert_int_equal(buf->len, 0);
        }
}

TEST(append) {
        _cleanup_(buf_done) struct buf buf = BUF_INIT(1000);

        check_invariants(&buf);
        assert_true(buf_puts(&buf, "a"));
        assert_true(buf_append(&buf, "b\0c", 3));
        assert_true(buf_append(&buf, NULL, 0));
        assert_true(buf_putc(&buf, 'd'));
        assert_true(buf_printf(&buf, "%d-%s", 7, "x"));
        check_invariants(&buf);
        assert_int_equal(buf.len, 8);
        assert_memory_equal(buf.data, "ab\0cd7-x", 9);
        buf_clear(&buf);
        check_invariants(&buf);
        assert_int_equal(buf.len, 0);
        assert_string_equal(buf.data, "");
}

TEST(ceiling) {
        /* Around the first allocation and its growth steps. */
        for (size_t max = 0; max < 700; max++) {
                _cleanup_(buf_done) struct buf buf = BUF_INIT(max);
                for (size_t i = 0; i < max; i++) {
                        assert_true(buf_putc(&buf, 'x'));
                        check_invariants(&buf);
                }
                assert_false(buf.overflow);
                assert_false(buf_putc(&buf, 'y'));
                assert_true(buf.overflow);
                assert_int_equal(buf.len, max);
                check_invariants(&buf);
                assert_true(buf_puts(&buf, "")); /* nothing still fits, and overflow stays */
                assert_true(buf.overflow);
                buf_clear(&buf);
                assert_false(buf.overflow);
        }
}

TEST(refused_append_changes_nothing) {
        _cleanup_(buf_done) struct buf buf = BUF_INIT(5);

        assert_true(buf_puts(&buf, "abc"));
        assert_false(buf_puts(&buf, "def"));
        assert_false(buf_printf(&buf, "%d", 456));
        assert_false(buf_append(&buf, "x", SIZE_MAX)); /* no wrap-around */
        assert_false(buf_reserve(&buf, SIZE_MAX - 2));
        assert_false(buf_json_string(&buf, "d", 1)); /* three bytes with its quotes */
        assert_string_equal(buf.data, "abc");
        assert_true(buf_puts(&buf, "de"));
        assert_true(buf.overflow); /* still set when asked only once, at the end */
}

TEST(take) {
        struct buf buf = BUF_INIT(100);

        _cleanup_(freep) char *nothing = buf_take(&buf);
        assert_string_equal(nothing, "");
        buf_puts(&buf, "text");
        _cleanup_(freep) char *text = buf_take(&buf);
        assert_string_equal(text, "text");
        assert_null(buf.data);
        assert_int_equal(buf.max_bytes, 100);
        buf_done(&buf);
        assert_true(buf_puts(&buf, "again"));
        buf_done(&buf);
}

static void show(const char *text, size_t len, struct buf *out) {
        assert_true(buf_json_string(out, text, len));
        /* All of it or nothing. */
        for (size_t max = 0; max < out->len; max++) {
                _cleanup_(buf_done) struct buf small = BUF_INIT(max);
                assert_false(buf_json_string(&small, text, len));
                assert_int_equal(small.len, 0);
                assert_true(small.overflow);
                check_invariants(&small);
        }
}

TEST(json_string) {
        rows_check("json-strings-written.tsv", show);
}
