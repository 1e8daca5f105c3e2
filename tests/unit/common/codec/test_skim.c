/* Keys and strings as they are skimmed. */
#include "tests/unit/fixture/test.h"

#include <jansson.h>

#include "base/mem.h"
#include "codec/skim_fields.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/rows.h"

static bool decode(const char *quoted, char *ret, size_t cap) {
        struct skim_string string;
        struct skim skim;

        skim_init(&skim, quoted, strlen(quoted));
        assert_true(skim_string(&skim, &string));
        assert_true(skim_at_end(&skim));
        return skim_decode(&string, ret, cap);
}

TEST(decode) {
        for (struct rows rows = rows_open("json-strings.tsv"); rows_next(&rows);) {
                bool is_whole = strcmp(rows.cells[1], "whole") == 0;
                char text[9];
                if (decode(rows_unescape(rows.cells[0]), text, sizeof(text)) != is_whole ||
                    strcmp(text, rows_unescape(rows.cells[2])) != 0)
                        fail_msg("%s: '%s'", rows.place, text);
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

        for (struct rows rows = rows_open("json-fields.tsv"); rows_next(&rows);) {
                const char *text = rows_unescape(rows.cells[0]), *b = rows_unescape(rows.cells[2]);
                struct pair pair = {0}, any_case = {0};
                struct skim skim;
                skim_init(&skim, text, strlen(text));
                assert_true(skim_fields(&skim, fields, &pair) && skim_at_end(&skim));
                skim_init(&skim, text, strlen(text));
                assert_true(skim_fields_any_case(&skim, fields, &any_case) && skim_at_end(&skim));
                if (!is_text(&pair.a, rows.cells[1]) || !is_text(&pair.b, b) ||
                    !is_text(&any_case.a, rows.cells[3]))
                        fail_msg("%s", rows.place);
        }
}
