/* The skim of the exposition format: single lines, hostile pages, numbers. Cut pages, and any
 * number: fuzz_exposition.c. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
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
                buf_puts(out, "; ");
        }
        buf_printf(out, "bad %zu", skim.malformed);
}

TEST(lines) {
        static const struct {
                const char *page;
                const char *expected;
        } rows[] = {
                {"node_load1 0.5\n", "load1 0.5; bad 0"},
                {"node_load1\t0.5\n", "load1 0.5; bad 0"},
                {"node_load15 2\nnode_load1 1\n", "load15 2; load1 1; bad 0"},
                {"node_load1 1\r\nnode_load1 2\r\n", "load1 1; load1 2; bad 0"},
                {"  node_load1 1\n", "load1 1; bad 0"}, /* the format allows leading blanks */
                {"node_load1 1 \n", "load1 1; bad 0"},  /* and trailing ones */
                {"node_load5 1\n", "bad 0"},
                {"node_load155 1\n", "bad 0"},
                {"anode_load1 1\n", "bad 0"},
                {"# TYPE node_load1 gauge\n", "bad 0"},
                {"\n\n\n", "bad 0"},
                {"", "bad 0"},
                {"node_load1", "bad 0"}, /* not even a blank behind the name: another name */
                {"node_load1 \n", "bad 1"},
                {"node_load1 \r\n", "bad 1"},
                {"node_load1 x\n", "bad 1"},
                {"node_load1 1x\n", "bad 1"},
                {"node_load1 0x10\n", "bad 1"}, /* strtod() would take it */
                {"node_load1 1_0\n", "bad 1"},
                {"node_load1 1,5\n", "bad 1"},
                {"node_load1 NaN\n", "load1 nan; bad 0"},
                {"node_load1 +Inf\n", "load1 inf; bad 0"},
                {"node_load1 -inf\n", "load1 -inf; bad 0"},
                {"node_load1 -1\n", "load1 -1; bad 0"},
                {"node_load1 1e400\n", "load1 inf; bad 0"},
                /* timestamps and exemplars */
                {"node_load1 1 1700000000000\n", "load1 1; bad 0"},
                {"node_load1 1 1700000000.123\n", "load1 1; bad 0"},
                {"node_load1 1 -5 \n", "load1 1; bad 0"},
                {"node_load1 1 12 13\n", "bad 1"},
                {"node_load1 1 yesterday\n", "bad 1"},
                {"node_load1 1 12yesterday\n", "bad 1"},
                {"node_load1 1 # {trace_id=\"x\"} 0.5\n", "load1 1; bad 0"},
                {"node_load1 1 12 # {trace_id=\"x\"} 0.5 1\n", "load1 1; bad 0"},
                {"node_load1 1\n# EOF\n", "load1 1; bad 0"},
                /* labels */
                {"node_load1{} 1\n", "load1 1; bad 0"},
                {"node_load1{a=\"b\"} 1\n", "load1 1 a=b; bad 0"},
                {"node_load1{a=\"b\"}1\n", "load1 1 a=b; bad 0"},
                {"node_load1 {a=\"b\"} 1\n", "load1 1 a=b; bad 0"},
                {"node_load1{ a = \"b\" , c=\"\" , } 1\n", "load1 1 a=b c=; bad 0"},
                {"node_load1{a=\"} 1\"} 2\n", "load1 2 a=} 1; bad 0"},
                {"node_load1{a=\"\\\"\\\\\"} 2\n", "load1 2 a=\\\"\\\\; bad 0"},
                {"node_load1{a=\"b\" 1\n", "bad 1"},
                {"node_load1{a=\"b\"\n", "bad 1"},
                {"node_load1{a=\"b} 1\n", "bad 1"},
                {"node_load1{a=\"b\\\" 1\n", "bad 1"},
                {"node_load1{a=\"b\\\n", "bad 1"}, /* the escape would reach past the line */
                {"node_load1{a=b} 1\n", "bad 1"},
                {"node_load1{=\"b\"} 1\n", "bad 1"},
                {"node_load1{1a=\"b\"} 1\n", "bad 1"},
                {"node_load1{a=\"b\"c=\"d\"} 1\n", "bad 1"},
                {"node_load1{,} 1\n", "bad 1"},
                {"node_load1{\n", "bad 1"},
                {"node_load1{a\n", "bad 1"},
                {"node_load1{a=\n", "bad 1"},
                /* a bad line costs only itself */
                {"node_load1 x\nnode_load1 1\n", "load1 1; bad 1"},
                {"node_load1 1\ngarbage\nnode_load15 2\n", "load1 1; load15 2; bad 0"},
        };
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                skim_text(rows[i].page, strlen(rows[i].page), true, &out);
                if (strcmp(out.data, rows[i].expected) != 0)
                        fail_msg("'%s' gave '%s'", rows[i].page, out.data);
        }
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

TEST(label_values) {
        static const struct {
                const char *escaped;
                const char *value;
        } rows[] = {
                {"", ""},
                {"eth0", "eth0"},
                {"a\\nb", "a\nb"},
                {"\\\\n", "\\n"},
                {"say \\\"x\\\"", "say \"x\""},
                {"C:\\dir", "C:\\dir"}, /* no escape of the format's: as it stands */
                {"a\\", "a\\"},         /* of no page: the quote behind it would be escaped */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exposition_label label = {
                        .value = rows[i].escaped,
                        .value_len = strlen(rows[i].escaped),
                };
                char text[16];
                assert_true(exposition_label_value(&label, text, sizeof(text)));
                assert_string_equal(text, rows[i].value);
                assert_true(exposition_label_is(&label, rows[i].value));
                assert_false(exposition_label_is(&label, "other"));
                if (rows[i].value[0] != '\0') {
                        assert_false(exposition_label_value(&label, text, strlen(rows[i].value)));
                        assert_string_equal(text, "");
                }
        }
        assert_false(exposition_label_is(NULL, ""));
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
}

static void check_number(const char *text) {
        double value = 42, expected = strtod(text, NULL);

        if (!exposition_number(text, strlen(text), &value))
                fail_msg("'%s' is a number", text);
        if (memcmp(&value, &expected, sizeof(value)) != 0)
                fail_msg("'%s' gave %a, not %a", text, value, expected);
}

TEST(numbers) {
        static const char *const good[] = {
                "0",
                "-0",
                "+0",
                "00",
                "1",
                ".5",
                "5.",
                "-.5e1",
                "1e5",
                "1E+5",
                "1e-5",
                "9007199254740992",
                "9007199254740993",
                "9007199254740993e0", /* 2^53 and 1 more */
                "123456789012345678",
                "1234567890123456789",
                "0.1",
                "2.7637020000000003",
                "1e22",
                "1e23",
                "1e-22",
                "1e-23",
                "9007199254740991e22",
                "9007199254740993e-22",
                "1e308",
                "1e309",
                "-1e309",
                "4.9e-324",
                "1e-400",
                "1e99999999999999999999",
                "0e99999999999999999999",
                "1e-99999999999999999999",
                "0.000000000000000000000000000000000000000000000000000000000000000000000000001",
                "100000000000000000000000000000000000000000000000000000000000000000000000000",
                "179769313486231580793728971405301e276",
                "2.52765184e+10",
                "1.7976931348623157e308",
        };
        static const char *const bad[] = {
                "",         "+",    "-",      ".",   "+.",    "e5",   ".e5",  "1e",
                "1e+",      "1e5x", "1.2.3",  "--1", "0x1p3", "in",   "infx", "infinit",
                "infinite", "nanx", "nan(1)", " 1",  "1 ",    "1e5 ", "1\0",
        };
        char text[EXPOSITION_MAX_NUMBER + 2];
        double value = 42;

        for (size_t i = 0; i < ARRAY_LEN(good); i++)
                check_number(good[i]);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                if (exposition_number(bad[i], strlen(bad[i]) + (i + 1 == ARRAY_LEN(bad)), &value))
                        fail_msg("'%s' is no number", bad[i]);
        }
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

/* -1: none that can be used. */
TEST(timestamps) {
        static const struct {
                const char *page;
                int64_t unix_ms;
        } rows[] = {
                {"node_load1 1 1795294586458\n", 1795294586458},
                {"node_load1{} 1\t 1795294586458 \n", 1795294586458},
                {"node_load1 1 1795294586458 # {} 1\n", 1795294586458},
                {"node_load1 1 1795294586458\r\n", 1795294586458},
                {"node_load1 1 0\n", 0},
                {"node_load1 1\n", -1},
                {"node_load1 1 # {} 5\n", -1},
                {"node_load1 1 -5\n", -1},
                {"node_load1 1 1795294586.458\n", -1}, /* OpenMetrics: seconds */
                {"node_load1 1 1e3\n", -1},
                {"node_load1 1 253402300799999\n", 253402300799999},
                {"node_load1 1 253402300800000\n", -1},
                {"node_load1 1 99999999999999999999\n", -1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exposition_sample sample;
                struct exposition skim;
                int64_t unix_ms = -1;
                exposition_begin(&skim, &set, rows[i].page, strlen(rows[i].page), true);
                assert_true(exposition_next(&skim, &sample));
                assert_int_equal(exposition_timestamp(&sample, &unix_ms), rows[i].unix_ms >= 0);
                assert_int_equal(unix_ms, rows[i].unix_ms);
        }
}

TEST_GROUP(set_up, NULL)
