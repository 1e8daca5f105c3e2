#include "tests/unit/fixture/test.h"

#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

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
                _cleanup_(freep) char *text = base64_encode(rows[i].plain, strlen(rows[i].plain));
                char plain[16];
                size_t len = 0;
                assert_string_equal(text, rows[i].text);
                assert_true(base64_decode(text, strlen(text), plain, &len));
                assert_int_equal(len, strlen(rows[i].plain));
                assert_memory_equal(plain, rows[i].plain, len);
        }
}

TEST(every_byte) {
        uint8_t bytes[256 + 2], decoded[sizeof(bytes)];
        size_t len = 0;

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)i;
        for (size_t cut = 0; cut < 3; cut++) {
                _cleanup_(freep) char *text = base64_encode(bytes, sizeof(bytes) - cut);
                assert_true(base64_decode(text, strlen(text), decoded, &len));
                assert_int_equal(len, sizeof(bytes) - cut);
                assert_memory_equal(decoded, bytes, len);
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
