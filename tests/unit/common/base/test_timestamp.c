/* RFC 3339 in three shapes, both ways. */
#include "tests/unit/fixture/test.h"

#include <time.h>

#include "base/clock.h"
#include "base/timestamp.h"

TEST(parse) {
        static const struct {
                const char *text;
                bool ok;
                int64_t at_unix_ms;
        } rows[] = {
                {"1970-01-01T00:00:00Z", true, 0},
                {"2026-07-23T11:25:54Z", true, 1784805954000},
                {"2026-07-23T11:25:54.1Z", true, 1784805954100},
                {"2026-07-23T11:25:54.120000Z", true, 1784805954120},
                {"2026-07-23T11:25:54.1239999999999999999999Z", true, 1784805954123},
                {"1969-12-31T23:59:59.999Z", true, -1},
                {"0000-01-01T00:00:00Z", true, -62167219200000},
                {"9999-12-31T23:59:59.999Z", true, 253402300799999},
                {"2024-02-29T00:00:00Z", true, 1709164800000},
                {"2000-02-29T00:00:00Z", true, 951782400000}, /* divisible by 400 */
                {"1900-02-29T00:00:00Z", false, 0},           /* by 100 only */
                {"2023-02-29T00:00:00Z", false, 0},
                {"2026-04-31T00:00:00Z", false, 0},
                {"2026-00-01T00:00:00Z", false, 0},
                {"2026-13-01T00:00:00Z", false, 0},
                {"2026-01-00T00:00:00Z", false, 0},
                {"2026-01-01T24:00:00Z", false, 0},
                {"2026-01-01T00:60:00Z", false, 0},
                {"2016-12-31T23:59:60Z", false, 0}, /* a leap second that there was */
                {"2026-07-23T11:25:54", false, 0},
                {"2026-07-23T11:25:54z", false, 0},
                {"2026-07-23t11:25:54Z", false, 0},
                {"2026-07-23 11:25:54Z", false, 0},
                {"2026-07-23T11:25:54+00:00", false, 0},
                {"2026-07-23T11:25:54.Z", false, 0},
                {"2026-07-23T11:25:54,1Z", false, 0},
                {"2026-07-23T11:25:54.1 Z", false, 0},
                {"2026-07-23T11:25:54Z ", false, 0},
                {" 2026-07-23T11:25:54Z", false, 0},
                {"2026-07-23T11:25:5Z", false, 0},
                {"26-07-23T11:25:54.00Z", false, 0},
                {"+026-07-23T11:25:54Z", false, 0},
                {"2026-07-23T11:25:-1Z", false, 0},
                {"", false, 0},
                {"Z", false, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t at_unix_ms = 42;
                bool ok = timestamp_parse(rows[i].text, strlen(rows[i].text), &at_unix_ms);
                if (ok != rows[i].ok || at_unix_ms != (ok ? rows[i].at_unix_ms : 42))
                        fail_msg("'%s' gave %d, %lld", rows[i].text, ok, (long long)at_unix_ms);
        }
}

TEST(format) {
        static const struct {
                int64_t at_unix_ms;
                const char *s, *ms, *us;
        } rows[] = {
                {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z",
                 "1970-01-01T00:00:00.000000Z"},
                {1784805954120, "2026-07-23T11:25:54Z", "2026-07-23T11:25:54.120Z",
                 "2026-07-23T11:25:54.120000Z"},
                {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z",
                 "1969-12-31T23:59:59.999000Z"},
                {-62167219200000, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z",
                 "0000-01-01T00:00:00.000000Z"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[TIMESTAMP_MAX];
                timestamp_format_s(rows[i].at_unix_ms, text, sizeof(text));
                assert_string_equal(text, rows[i].s);
                timestamp_format_ms(rows[i].at_unix_ms, text, sizeof(text));
                assert_string_equal(text, rows[i].ms);
                timestamp_format_us(rows[i].at_unix_ms, text, sizeof(text));
                assert_string_equal(text, rows[i].us);
        }
        /* Years that no reader takes must still fit the buffer. */
        char text[TIMESTAMP_MAX];
        timestamp_format_us(INT64_MAX, text, sizeof(text));
        assert_string_equal(text, "292278994-08-17T07:12:55.807000Z");
        timestamp_format_us(INT64_MIN, text, sizeof(text));
        assert_true(strlen(text) < sizeof(text) - 1);
        assert_string_equal(text + strlen(text) - 1, "Z");
}

/* Every day of ten centuries against glibc's calendar, and back. */
TEST(calendar) {
        for (int64_t day = -200000; day < 200000; day++) {
                time_t at_s = (time_t)(day * 86400);
                struct tm tm;
                char expected[TIMESTAMP_MAX], text[TIMESTAMP_MAX];
                assert_non_null(gmtime_r(&at_s, &tm));
                assert_true(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
                timestamp_format_s(day * MS_PER_DAY, text, sizeof(text));
                assert_string_equal(text, expected);
                int64_t back_ms = 0;
                timestamp_format_ms(day * MS_PER_DAY + 123, text, sizeof(text));
                assert_true(timestamp_parse(text, strlen(text), &back_ms));
                assert_true(back_ms == day * MS_PER_DAY + 123);
        }
}
