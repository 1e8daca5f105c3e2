/* Numbers as text. */
#include "tests/unit/fixture/test.h"

#include "base/number.h"
#include "tests/unit/fixture/rows.h"

static void show_parsed(const char *text, size_t len, struct buf *out) {
        double value = 42;

        if (number_parse(text, len, &value))
                buf_printf(out, "%.17g", value);
        else
                buf_puts(out, value == 42 ? "-" : "changed");
}

TEST(number_parse) {
        rows_check("numbers.tsv", show_parsed);
}

TEST(number_of_many_digits) {
        char text[NUMBER_MAX_SLOW + 1];
        double value = 42;

        memset(text, '0', sizeof(text));
        text[1] = '.';
        text[NUMBER_MAX_SLOW - 1] = text[NUMBER_MAX_SLOW] = '7';
        assert_true(number_parse(text, NUMBER_MAX_SLOW, &value));
        assert_true(value == 0); /* below the smallest double */
        value = 42;
        assert_false(number_parse(text, NUMBER_MAX_SLOW + 1, &value));
        assert_true(value == 42);
}

static void show_scanned(const char *text, size_t len, struct buf *out) {
        double value = 42;
        size_t scanned = number_scan(text, len, &value);

        if (scanned > 0)
                buf_printf(out, "%zu %.17g", scanned, value);
        else
                buf_puts(out, value == 42 ? "-" : "changed");
}

TEST(number_scan) {
        rows_check("number-scans.tsv", show_scanned);
}

TEST(number_format) {
        static const struct {
                double value;
                const char *text;
        } rows[] = {
                {0, "0"},
                {-0.0, "-0"},
                {1, "1"},
                {0.1, "0.1"},
                {0.65, "0.65"},
                {1.0 / 3, "0.3333333333333333"},    /* 16 digits */
                {0.1 + 0.2, "0.30000000000000004"}, /* 17 digits */
                {1e300, "1e+300"},
                {5e-324, "4.94065645841247e-324"}, /* the smallest there is */
                {-1.7976931348623157e308, "-1.7976931348623157e+308"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[NUMBER_TEXT_MAX];
                double again = 42;
                number_format(rows[i].value, text);
                assert_string_equal(text, rows[i].text);
                assert_true(number_parse(text, strlen(text), &again));
                assert_memory_equal(&again, &rows[i].value, sizeof(again));
        }
}

TEST(integers) {
        uint64_t u = 7;
        int64_t i = 7;

        assert_true(number_parse_u64("18446744073709551615", 20, &u));
        assert_true(u == UINT64_MAX);
        assert_false(number_parse_u64("18446744073709551616", 20, &u));
        assert_false(number_parse_u64("-1", 2, &u));
        assert_false(number_parse_u64("", 0, &u));
        assert_true(number_parse_i64("-9223372036854775808", 20, &i));
        assert_true(i == INT64_MIN);
        assert_false(number_parse_i64("9223372036854775808", 19, &i));
        assert_false(number_parse_i64("-", 1, &i));
        assert_true(i == INT64_MIN); /* unclobbered by the failures */
}
