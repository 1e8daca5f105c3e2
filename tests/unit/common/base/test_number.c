/* Numbers as text. */
#include "tests/unit/fixture/test.h"

#include "base/number.h"

TEST(number_parse) {
        static const struct {
                const char *text;
                bool ok;
                double value;
        } rows[] = {
                {"0.65", true, 0.65},
                {"-0", true, -0.0},
                {".5", true, 0.5},
                {"5.", true, 5},
                {"+1e-2", true, 0.01},
                {"1E3", true, 1000},
                {"1e-400", true, 0}, /* underflow is 0 */
                {"1e400", false, 0}, /* overflow is no number of ours */
                {"", false, 0},
                {".", false, 0},
                {"+", false, 0},
                {"1e", false, 0},
                {"1e+", false, 0},
                {"0.65abc", false, 0}, /* what atof() would take */
                {" 1", false, 0},
                {"1 ", false, 0},
                {"0x10", false, 0}, /* strtod() reads hexadecimal */
                {"1_000", false, 0},
                {"nan", false, 0},
                {"inf", false, 0},
                {"0,5", false, 0}, /* a locale's decimal comma */
                {"0000000000000000000000000000000000000000000000000000000000000000000000001.5",
                 true, 1.5},
                {"0.00000000000000000000000000000000000000001", true, 1e-41},
                {"18446744073709551617", true, 18446744073709551617.0}, /* 2^64 + 1 */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double value = 42;
                bool ok = number_parse(rows[i].text, strlen(rows[i].text), &value);
                if (ok != rows[i].ok || value != (ok ? rows[i].value : 42))
                        fail_msg("'%s' gave %d, %g", rows[i].text, ok, value);
        }
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

TEST(number_scan) {
        static const struct {
                const char *text;
                size_t len;
                double value;
        } rows[] = {
                {"0.65", 4, 0.65},
                {"1.5 1700000000", 3, 1.5},
                {"7\t", 1, 7},
                {"-2e3x", 4, -2000},
                {"1.2.3", 3, 1.2},
                {"0x10", 1, 0},
                {"12345678901234567890 1", 20, 12345678901234567890.0},
                {"", 0, 42},
                {" 1", 0, 42},
                {"-.", 0, 42},
                {"e5", 0, 42},
                {"1e", 0, 42},
                {"1e+ 5", 0, 42},
                {"NaN", 0, 42},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double value = 42;
                size_t len = number_scan(rows[i].text, strlen(rows[i].text), &value);
                if (len != rows[i].len || value != rows[i].value)
                        fail_msg("'%s' gave %zu, %g", rows[i].text, len, value);
        }
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
