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

TEST(graphic) {
        static const struct {
                unsigned code;
                bool is_graphic;
        } rows[] = {
                {0, false},      {0x1f, false},    {' ', true},     {'~', true},
                {0x7f, false},   {0x85, false},    {0x9f, false},   {0xa0, true},
                {0xad, false},   {0xe9, true},     {0x600, false},  {0x61c, false},
                {0x200a, true},  {0x200b, false},  {0x200f, false}, {0x2010, true},
                {0x2028, false}, {0x202a, false},  {0x202e, false}, {0x202f, true},
                {0x2066, false}, {0x2069, false},  {0x2070, true},  {0x20ac, true},
                {0xfeff, false}, {0xfffd, true},   {0x1f600, true}, {0xe0001, false},
                {0xe0080, true}, {0x10ffff, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[4];
                size_t len = encode(rows[i].code, text);
                if (utf8_is_graphic(text, len) != rows[i].is_graphic)
                        fail_msg("U+%04X", rows[i].code);
        }
}
