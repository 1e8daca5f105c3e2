/* Durations as text. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/duration.h"

TEST(duration) {
        static const struct {
                const char *text;
                int code;
                int64_t ms;
                const char *formatted; /* NULL: the text itself */
        } rows[] = {
                {"0", 0, 0, "0s"},
                {"90s", 0, 90000, "1m30s"},
                {"3m", 0, 180000, NULL},
                {"1h30m", 0, 5400000, NULL},
                {"24h", 0, 86400000, NULL},
                {"500ms", 0, 500, NULL},
                {"1.5h", 0, 5400000, "1h30m"},
                {"1.5s", 0, 1500, NULL},
                {"-2m", 0, -120000, NULL},
                {"2us", 0, 0, "0s"},       /* below a millisecond */
                {"0.3s", 0, 300, "300ms"}, /* 0.3 * 1e9 is no exact double */
                {".5s", 0, 500, "500ms"},
                {"1.s", 0, 1000, "1s"}, /* as Go */
                {"1.000000000000000000000000009s", 0, 1000, "1s"},
                {"0.999999999s", 0, 999, "999ms"},              /* toward zero, never up */
                {"9000000.001s", 0, 9000000001, "2500h0.001s"}, /* beyond 2^53 ns */
                {"2562047h47m16.854s", 0, 9223372036854, NULL}, /* the last that Go holds */
                {"2562047h47m16.855s", -ERANGE, 0, NULL},
                {"99999999999999999999ns", -ERANGE, 0, NULL},
                {"99999999999999999999x", -EINVAL, 0, NULL},
                {"9223372036s9223372036s", -ERANGE, 0, NULL},
                /* of 2^64 ns, by their sum and by their fraction only */
                {"5124095h5124095h", -ERANGE, 0, NULL},
                {"5124095.9h", -ERANGE, 0, NULL},
                {"", -EINVAL, 0, NULL},
                {"-", -EINVAL, 0, NULL},
                {"3", -EINVAL, 0, NULL}, /* a bare number is no duration */
                {"3 m", -EINVAL, 0, NULL},
                {"3M", -EINVAL, 0, NULL},
                {"1d", -EINVAL, 0, NULL}, /* Go has no day */
                {"m", -EINVAL, 0, NULL},
                {".s", -EINVAL, 0, NULL},
                {"1h-2m", -EINVAL, 0, NULL},
                {"3000000h", -ERANGE, 0, NULL}, /* beyond int64 nanoseconds */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t ms = 42;
                char text[DURATION_TEXT_MAX];
                int r = duration_parse(rows[i].text, strlen(rows[i].text), &ms);
                if (r != rows[i].code || ms != (r == 0 ? rows[i].ms : 42))
                        fail_msg("'%s' gave %d, %lld", rows[i].text, r, (long long)ms);
                if (r < 0)
                        continue;
                duration_format(ms, text);
                assert_string_equal(text, rows[i].formatted ? rows[i].formatted : rows[i].text);
        }
}
