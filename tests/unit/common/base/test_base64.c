#include "tests/unit/fixture/test.h"

#include <string.h>

#include "base/attributes.h"
#include "base/base64.h"

/* RFC 4648, section 10. */
TEST(vectors) {
        static const struct {
                const char *plain, *text;
        } rows[] = {
                {"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char plain[16];
                size_t len = 0;
                assert_true(base64_decode(rows[i].text, strlen(rows[i].text), plain, &len));
                assert_int_equal(len, strlen(rows[i].plain));
                assert_memory_equal(plain, rows[i].plain, len);
        }
}

/* A digit of the standard alphabet. */
static char digit_of(unsigned value) {
        return (char)(value < 26   ? 'A' + value
                      : value < 52 ? 'a' + value - 26
                      : value < 62 ? '0' + value - 52
                      : value < 63 ? '+'
                                   : '/');
}

/* All groups of four digits in which one digit counts up, at each of its places. */
TEST(every_digit) {
        for (unsigned place = 0; place < 4; place++) {
                for (unsigned value = 0; value < 64; value++) {
                        char text[] = "AAAA";
                        unsigned char bytes[3] = {1, 1, 1};
                        size_t len = 0;
                        text[place] = digit_of(value);
                        assert_true(base64_decode(text, 4, bytes, &len));
                        assert_int_equal(len, 3);
                        assert_int_equal(bytes[0] << 16 | bytes[1] << 8 | bytes[2],
                                         value << (18 - 6 * place));
                }
        }
}

TEST(refused) {
        static const char *const rows[] = {
                "=",       "Zg",      "Zg=",  "Zg===",    "Zg==Zg==",         /* ends within */
                "====",    "Z===",    "Zg=x", "Zm9v====", "Zm9vY",    "Zm-_", /* URLs' alphabet */
                "Zm9\x80", "Zm9\x7f", "Zm9*",
        };
        char bytes[16];
        size_t len = 77;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (base64_decode(rows[i], strlen(rows[i]), bytes, &len))
                        fail_msg("'%s' was taken", rows[i]);
        assert_false(base64_decode("Zm\0v", 4, bytes, &len));
        assert_int_equal(len, 77);
}

TEST(white_space) {
        static const char text[] = " Z\tg\r\n=\n= ";
        char bytes[sizeof(text)];
        size_t len = 0;

        assert_true(base64_decode(text, strlen(text), bytes, &len));
        assert_int_equal(len, 1);
        assert_int_equal(bytes[0], 'f');
}
