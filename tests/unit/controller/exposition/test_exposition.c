/* The skim of the exposition format: single lines, hostile pages, numbers. Cut pages, and any
 * number: fuzz_exposition.c. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/rows.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/exposition/exposition.h"

static const char *const names[] = {
        "node_cpu_seconds_total",
        "node_load1",
        "node_load15",
        "node_memory_MemTotal_bytes",
};

static struct exposition_set set;

static int set_up(void **state) {
        exposition_set_init(&set, names, ARRAY_LEN(names));
        return 0;
}

/* "family value {label=value ...}; ..." of all samples, then the number of malformed lines. */
static void skim_text(const char *page, size_t page_bytes, bool is_complete, struct buf *out) {
        /* An exact-sized copy: a read past the end meets the sanitizer. */
        _cleanup_(freep) char *copy = xmalloc(page_bytes);
        struct exposition_sample sample;
        struct exposition skim;

        memcpy(copy, page, page_bytes);
        buf_clear(out);
        exposition_begin(&skim, &set, copy, page_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                buf_printf(out, "%s %g", names[sample.family] + 5, sample.value);
                for (size_t i = 0; i < sample.label_count; i++) {
                        const struct exposition_label *label = &sample.labels[i];
                        buf_printf(out, " %.*s=%.*s", (int)label->name_len, label->name,
                                   (int)label->value_len, label->value);
                }
                int64_t unix_ms = 0;
                if (exposition_timestamp(&sample, &unix_ms))
                        buf_printf(out, " @%lld", (long long)unix_ms);
                buf_puts(out, "; ");
        }
        buf_printf(out, "bad %zu", skim.malformed);
}

static void check_line(const char *page, const char *expected, const char *place) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);

        skim_text(page, strlen(page), true, &out);
        if (strcmp(out.data, expected) != 0)
                fail_msg("%s: %s", place, out.data);
}

static void check_label(const char *escaped, const char *value) {
        struct exposition_label label = {.value = escaped, .value_len = strlen(escaped)};
        char text[16];

        assert_true(exposition_label_value(&label, text, sizeof(text)));
        assert_string_equal(text, value);
        assert_true(exposition_label_is(&label, value));
        assert_false(exposition_label_is(&label, "other"));
        if (value[0] != '\0') {
                assert_false(exposition_label_value(&label, text, strlen(value)));
                assert_string_equal(text, "");
        }
}

static void check_number(const char *text) {
        double value = 42, expected = strtod(text, NULL);

        if (!exposition_number(text, strlen(text), &value))
                fail_msg("'%s' is a number", text);
        if (memcmp(&value, &expected, sizeof(value)) != 0)
                fail_msg("'%s' gave %a, not %a", text, value, expected);
}

TEST(table) {
        struct rows rows = rows_open("exposition.tsv");
        double value;

        while (rows_next(&rows)) {
                for (size_t i = 1; i < rows.cell_count; i++)
                        (void)rows_unescape(rows.cells[i]);
                if (strcmp(rows.cells[0], "line") == 0)
                        check_line(rows.cells[1], rows.cells[2], rows.place);
                else if (strcmp(rows.cells[0], "label") == 0)
                        check_label(rows.cells[1], rows.cells[2]);
                else if (strcmp(rows.cells[0], "number") == 0)
                        check_number(rows.cells[1]);
                else if (exposition_number(rows.cells[1], strlen(rows.cells[1]), &value))
                        fail_msg("%s: it is a number", rows.place);
        }
}

TEST(odd_numbers) {
        char text[EXPOSITION_MAX_NUMBER + 2];
        double value = 42;

        assert_false(exposition_number("1", 2, &value));
        assert_true(value == 42);
        assert_true(exposition_number("-Infinity", 9, &value) && value < 0 && isinf(value));
        assert_true(exposition_number("NAN", 3, &value) && isnan(value));

        memset(text, '1', sizeof(text));
        assert_true(exposition_number(text, EXPOSITION_MAX_NUMBER, &value));
        text[EXPOSITION_MAX_NUMBER] = '\0';
        check_number(text);
        text[EXPOSITION_MAX_NUMBER] = '1';
        assert_false(exposition_number(text, EXPOSITION_MAX_NUMBER + 1, &value));
        _cleanup_(freep) char *page = xasprintf("node_load1 %.*s\n", EXPOSITION_MAX_NUMBER + 1,
                                                text);
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 10);
        skim_text(page, strlen(page), true, &out);
        assert_string_equal(out.data, "bad 1");
}

TEST(last_line_needs_trust) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);

        skim_text("node_load1 1\nnode_load15 12", 27, true, &out);
        assert_string_equal(out.data, "load1 1; load15 12; bad 0");
        skim_text("node_load1 1\nnode_load15 12", 27, false, &out); /* of 1234, perhaps */
        assert_string_equal(out.data, "load1 1; bad 0");
        skim_text("node_load1 1\nnode_load15 12\n", 28, false, &out);
        assert_string_equal(out.data, "load1 1; load15 12; bad 0");
}

TEST(nul_bytes) {
        static const char page[] = "node_load1\0 1\nnode_load1 \0001\nnode_load1{a=\"\0\"} 3\n";
        struct exposition_sample sample;
        struct exposition skim;
        char text[8] = "x";

        exposition_begin(&skim, &set, page, sizeof(page) - 1, true);
        assert_true(exposition_next(&skim, &sample));
        assert_true(sample.value == 3);
        assert_int_equal(skim.malformed, 1);
        assert_false(exposition_label_value(&sample.labels[0], text, sizeof(text)));
        assert_string_equal(text, "");
        assert_false(exposition_next(&skim, &sample));
}

TEST(many_labels) {
        struct buf page = BUF_INIT(1 << 20), out = BUF_INIT(1 << 16);

        for (size_t count = EXPOSITION_MAX_LABELS; count < 20000; count += 19000) {
                buf_clear(&page);
                buf_puts(&page, "node_load1{");
                for (size_t i = 0; i < count; i++)
                        buf_printf(&page, "l%zu=\"v\",", i);
                buf_puts(&page, "} 1\nnode_load15 2\n");
                skim_text(page.data, page.len, true, &out);
                if (count <= EXPOSITION_MAX_LABELS)
                        assert_non_null(strstr(out.data, "l127=v; load15 2; bad 0"));
                else
                        assert_string_equal(out.data, "load15 2; bad 1");
        }
        buf_done(&page);
        buf_done(&out);
}

TEST(garbage_pages) {
        enum { BYTES = EXPOSITION_MAX_BYTES };
        static const char *const fills[] = {
                "\n", "x", "node_load1", "node_load1{", "node_load1{a=\"\\", "node_load1 \n",
        };
        _cleanup_(freep) char *page = xmalloc(BYTES);

        for (size_t f = 0; f <= ARRAY_LEN(fills); f++) {
                struct exposition_sample sample;
                struct exposition skim;
                size_t samples = 0;

                for (size_t i = 0; i < BYTES; i++)
                        page[i] = f < ARRAY_LEN(fills) ? fills[f][i % strlen(fills[f])]
                                                       : (char)draw_below(256);
                exposition_begin(&skim, &set, page, BYTES, true);
                while (exposition_next(&skim, &sample))
                        samples++;
                assert_int_equal(samples, 0);
                assert_true(skim.at == page + BYTES);
        }
}

TEST(empty_set) {
        struct exposition_set none;
        struct exposition_sample sample;
        struct exposition skim;

        exposition_set_init(&none, NULL, 0);
        exposition_begin(&skim, &none, "node_load1 1\n", 13, true);
        assert_false(exposition_next(&skim, &sample));
        exposition_begin(&skim, &none, NULL, 0, true);
        assert_false(exposition_next(&skim, &sample));
        assert_false(exposition_label_is(NULL, ""));
}

TEST_GROUP(set_up, NULL)
