/* RFC 3339 in three shapes, both ways. */
#include "tests/unit/fixture/test.h"

#include <time.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        int64_t at_unix_ms = 42;

        if (timestamp_parse(text, len, &at_unix_ms))
                buf_printf(out, "%lld", (long long)at_unix_ms);
        else
                buf_puts(out, at_unix_ms == 42 ? "-" : "changed");
}

TEST(parse) {
        rows_check("timestamps.tsv", show);
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
