/* Keys and strings as they are skimmed. */
#include "tests/unit/fixture/test.h"

#include <jansson.h>

#include "base/mem.h"
#include "codec/skim_fields.h"
#include "tests/unit/fixture/draw.h"

static bool decode(const char *quoted, char *ret, size_t cap) {
        struct skim_string string;
        struct skim skim;

        skim_init(&skim, quoted, strlen(quoted));
        assert_true(skim_string(&skim, &string));
        assert_true(skim_at_end(&skim));
        return skim_decode(&string, ret, cap);
}

TEST(decode) {
        static const struct {
                const char *quoted;
                bool is_whole;
                const char *text; /* cut to 8 bytes */
        } rows[] = {
                {"\"\"", true, ""},
                {"\"abcdefgh\"", true, "abcdefgh"},
                {"\"abcdefghi\"", false, "abcdefgh"},
                {"\"\\u0061\\u0062cdefgh\"", true, "abcdefgh"},
                {"\"abcdefgh\\u0069\"", false, "abcdefgh"},
                {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", true, "\"\\/\b\f\n\r\t"},
                {"\"\\u003c\\u003C&\"", true, "<<&"},
                {"\"\\u00e9\xc3\xa9\\u20ac\"", true, "\xc3\xa9\xc3\xa9\xe2\x82\xac"},
                {"\"\\ud83d\\ude00\\uDBFF\\uDFFF\"", true, "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
                /* a character is not cut */
                {"\"abcdefg\\u00e9\"", false, "abcdefg"},
                /* a NUL, halves of pairs */
                {"\"ab\\u0000c\"", false, "ab"},
                {"\"ab\\ud83d\"", false, "ab"},
                {"\"ab\\ud83dc\"", false, "ab"},
                {"\"ab\\ud83d\\u0061\"", false, "ab"},
                {"\"ab\\ud83d\\\\ude00\"", false, "ab"},
                {"\"ab\\ude00\"", false, "ab"},
        };
        char text[9];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(decode(rows[i].quoted, text, sizeof(text)), rows[i].is_whole);
                assert_string_equal(text, rows[i].text);
        }
}

/* jansson and we read the same out of every string. */
TEST(decode_any) {
        static const char *const parts[] = {"a",        "\\n",     "\\u0041", "\\u00e9", "\\u20AC",
                                            "\xc3\xa9", "\\ud83d", "\\ude00", "\\\\",    "u0041"};

        for (int round = 0; round < 5000; round++) {
                char quoted[100] = "\"", text[100];
                for (unsigned i = 0, n = draw_below(8); i < n; i++)
                        strcat(quoted, parts[draw_below(ARRAY_LEN(parts))]);
                strcat(quoted, "\"");
                json_t *expected = json_loads(quoted, JSON_DECODE_ANY, NULL);
                bool is_whole = decode(quoted, text, sizeof(text));
                assert_int_equal(is_whole, expected != NULL);
                if (is_whole)
                        assert_string_equal(text, json_string_value(expected));
                json_decref(expected);
        }
}

struct pair {
        struct skim_string a, b;
};

static bool is_text(const struct skim_string *string, const char *text) {
        return string->len == strlen(text) && (string->len == 0 || skim_is(string, text));
}

TEST(fields) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("Aa", struct pair, a),
                SKIM_VALUE("Bb", struct pair, b, skim_field_any_text),
                {0},
        };
        static const struct {
                const char *text, *a, *b, *any_case_a;
        } rows[] = {
                {"{\"Aa\":\"1\",\"Bb\":\"2\",\"c\":[]}", "1", "2", "1"},
                {"{\"aA\":\"1\",\"Bb\":\"2\"}", "", "2", "1"},
                {"{\"A\\u0061\":\"1\",\"\\u0042b\":\"2\"}", "1", "2", "1"},
                {"{\"\\u0041A\":\"1\"}", "", "", "1"},
                /* strings of any characters, and other values */
                {"{\"Aa\":\"\\u0031\",\"Bb\":\"\\u0032\"}", "", "\\u0032", ""},
                {"{\"Aa\":1,\"Bb\":{}}", "", "", ""},
                /* of a repeated key the last one counts */
                {"{\"Aa\":\"1\",\"Aa\":\"2\"}", "2", "", "2"},
                {"{\"Aa\":\"1\",\"aa\":\"2\"}", "1", "", "2"},
                /* a key that is longer than any of ours, and one that stands for nothing */
                {"{\"Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n\":1}",
                 "", "", ""},
                {"{\"Aa\\ud800\":\"1\"}", "", "", ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair pair = {0};
                struct skim skim;
                skim_init(&skim, rows[i].text, strlen(rows[i].text));
                assert_true(skim_fields(&skim, fields, &pair) && skim_at_end(&skim));
                assert_true(is_text(&pair.a, rows[i].a) && is_text(&pair.b, rows[i].b));
                pair = (struct pair){0};
                skim_init(&skim, rows[i].text, strlen(rows[i].text));
                assert_true(skim_fields_any_case(&skim, fields, &pair) && skim_at_end(&skim));
                assert_true(is_text(&pair.a, rows[i].any_case_a));
        }
}
