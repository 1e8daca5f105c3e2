/* The annotation codec. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "policy/annotation.h"
#include "tests/unit/fixture/rows.h"

/* 2026-07-23T11:25:54Z */
#define AT_UNIX_MS INT64_C(1784805954000)

static void show(const char *text, size_t len, struct buf *out) {
        struct annotation got = {.value = 42, .at_unix_ms = 42};
        struct error err = ERROR_NULL;
        int r = annotation_parse(text, len, NULL, &got, &err);

        if (r == 0)
                buf_printf(out, "%.17g %lld", got.value, (long long)got.at_unix_ms);
        else
                assert_true(got.value == 42 && got.at_unix_ms == 42);
        buf_puts(out, err.msg);
        assert_int_equal(r, annotation_parse(text, len, NULL, &got, NULL));
}

TEST(parse) {
        rows_check("annotations.tsv", show);
}

TEST(bytes) {
        static const char with_nul[] = "0.1\0,2026-07-23T11:25:54Z";
        char text[ANNOTATION_MAX_BYTES + 1];
        struct annotation got;

        assert_int_equal(annotation_parse(with_nul, sizeof(with_nul) - 1, NULL, &got, NULL),
                         -EINVAL);
        assert_int_equal(annotation_parse(NULL, 0, NULL, &got, NULL), -EINVAL);

        /* The ceiling, from both sides: zeros in front of "1,<timestamp>". */
        static const char tail[] = "1,2026-07-23T11:25:54Z";
        memset(text, '0', sizeof(text));
        memcpy(text + sizeof(text) - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
        assert_int_equal(annotation_parse(text, sizeof(text), NULL, &got, NULL), -EINVAL);
        assert_int_equal(annotation_parse(text + 1, sizeof(text) - 1, NULL, &got, NULL), 0);
        assert_true(got.value == 1);
}

TEST(format) {
        static const struct {
                double ratio;
                const char *text;
        } rows[] = {
                {0, "0.00000,2026-07-23T11:25:54Z"},
                {0.3421, "0.34210,2026-07-23T11:25:54Z"},
                {0.999999, "1.00000,2026-07-23T11:25:54Z"},
                {1e-9, "0.00000,2026-07-23T11:25:54Z"},
                {12.5, "12.50000,2026-07-23T11:25:54Z"},
                {1e300, "1000000000.00000,2026-07-23T11:25:54Z"}, /* the buffer's ceiling */
        };
        char text[ANNOTATION_TEXT_MAX];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                annotation_format_ratio(rows[i].ratio, AT_UNIX_MS + 999, NULL, text);
                assert_string_equal(text, rows[i].text);
        }
        annotation_format_hot(2, AT_UNIX_MS, NULL, text);
        assert_string_equal(text, "2,2026-07-23T11:25:54Z");
        annotation_format_hot(INT64_MAX, AT_UNIX_MS, NULL, text);
        assert_string_equal(text, "9223372036854775807,2026-07-23T11:25:54Z");
        /* No time, however odd, passes the end of the text. */
        annotation_format_hot(INT64_MIN, INT64_MIN, NULL, text);
        assert_true(strlen(text) < sizeof(text));
        annotation_format_ratio(1e300, INT64_MAX, NULL, text);
        assert_true(strlen(text) < sizeof(text));
}

/* What is written is read back: to half a unit of the fifth decimal, and to the second. */
TEST(round_trip) {
        unsigned short seed[3] = {1, 2, 3};

        for (int i = 0; i < 100000; i++) {
                double ratio = pow(10, erand48(seed) * 12 - 6);
                int64_t at_unix_ms = (int64_t)(erand48(seed) * 4e12);
                char text[ANNOTATION_TEXT_MAX];
                struct annotation got;
                annotation_format_ratio(ratio, at_unix_ms, NULL, text);
                assert_int_equal(annotation_parse(text, strlen(text), NULL, &got, NULL), 0);
                if (fabs(got.value - ratio) > 0.5000001e-5 ||
                    got.at_unix_ms != at_unix_ms - at_unix_ms % 1000)
                        fail_msg("%.17g at %lld gave %s", ratio, (long long)at_unix_ms, text);

                int64_t hot = (int64_t)(erand48(seed) * 4096);
                annotation_format_hot(hot, at_unix_ms, NULL, text);
                assert_int_equal(annotation_parse(text, strlen(text), NULL, &got, NULL), 0);
                assert_true(got.value == (double)hot);
        }
}

TEST(stamp) {
        assert_true(annotation_stamp_unix_ms(AT_UNIX_MS, 0) == AT_UNIX_MS);
        assert_true(annotation_stamp_unix_ms(AT_UNIX_MS, 14999) == AT_UNIX_MS - 14999);
        assert_true(annotation_stamp_unix_ms(AT_UNIX_MS, 60001) == AT_UNIX_MS - 60000);
}

TEST(expiry) {
        assert_true(annotation_expires_unix_ms(AT_UNIX_MS, 180000) == AT_UNIX_MS + 480000);
        assert_true(annotation_expires_unix_ms(AT_UNIX_MS, 0) == AT_UNIX_MS + 300000);
        assert_true(annotation_expires_unix_ms(INT64_MAX, 1) == INT64_MAX);
        assert_true(annotation_expires_unix_ms(1, INT64_MAX - 1) == INT64_MAX);
        assert_true(annotation_at_unix_ms(AT_UNIX_MS + 480000, 180000) == AT_UNIX_MS);
}

/* crane stamps the local time of Asia/Shanghai with a literal Z. Last: loading a zone sets the
 * process's TZ. */
TEST(zone) {
        const struct zone *zone = NULL;
        char text[ANNOTATION_TEXT_MAX];
        struct annotation got;

        assert_int_equal(zone_load("Asia/Shanghai", &zone, NULL), 0);
        annotation_format_ratio(0.5, AT_UNIX_MS, zone, text);
        assert_string_equal(text, "0.50000,2026-07-23T19:25:54Z");
        assert_int_equal(annotation_parse(text, strlen(text), zone, &got, NULL), 0);
        assert_true(got.at_unix_ms == AT_UNIX_MS);
}
