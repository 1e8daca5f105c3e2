/* UTF-8 as RFC 3629 has it, against an encoder over every code point. */
#include "tests/unit/fixture/test.h"

#include <stdbool.h>

#include "base/attributes.h"
#include "base/utf8.h"

static size_t encode(unsigned code, char text[4]) {
        if (code < 0x80) {
                text[0] = (char)code;
                return 1;
        }
        if (code < 0x800) {
                text[0] = (char)(0xc0 | code >> 6);
                text[1] = (char)(0x80 | (code & 0x3f));
                return 2;
        }
        if (code < 0x10000) {
                text[0] = (char)(0xe0 | code >> 12);
                text[1] = (char)(0x80 | (code >> 6 & 0x3f));
                text[2] = (char)(0x80 | (code & 0x3f));
                return 3;
        }
        text[0] = (char)(0xf0 | code >> 18);
        text[1] = (char)(0x80 | (code >> 12 & 0x3f));
        text[2] = (char)(0x80 | (code >> 6 & 0x3f));
        text[3] = (char)(0x80 | (code & 0x3f));
        return 4;
}

TEST(every_code_point) {
        for (unsigned code = 0; code < 0x110000 + 0x1000; code++) {
                char text[4] = {0};
                size_t len = encode(code, text);
                bool ok = code < 0x110000 && !(code >= 0xd800 && code < 0xe000);
                assert_int_equal(utf8_sequence_len(text, len), ok ? len : 0);
                for (size_t cut = 0; cut < len; cut++)
                        assert_int_equal(utf8_sequence_len(text, cut), 0);
        }
}

TEST(malformed) {
        static const struct {
                const char *text;
                size_t len;
        } rows[] = {
                {"\x80", 1},             /* a continuation byte on its own */
                {"\xc0\x80", 2},         /* NUL, overlong */
                {"\xc1\xbf", 2},         /* overlong */
                {"\xe0\x9f\xbf", 3},     /* overlong */
                {"\xf0\x8f\xbf\xbf", 4}, /* overlong */
                {"\xf4\x90\x80\x80", 4}, /* U+110000 */
                {"\xf8\x88\x80\x80\x80", 5},
                {"\xfe", 1},
                {"\xff", 1},
                {"\xc3(", 2},
                {"\xe2\x82(", 3},
                {"\xf0\x9f\x98(", 4},
                {"\xf0\x9f(\x80", 4},
                {"\xf0(\x98\x80", 4},
                {"\xf5\x80\x80\x80", 4}, /* beyond all planes */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(utf8_sequence_len(rows[i].text, rows[i].len), 0);
}
