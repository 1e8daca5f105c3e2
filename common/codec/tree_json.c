/*
 * JSON by the grammar of RFC 8259. YAML claims to contain JSON, but libyaml does not: it refuses
 * tabs before the first bracket, surrogate pairs in \u escapes, a line break between a key and its
 * colon, and keys of more than 1,024 characters. jansson reads all of it, but keeps no line
 * numbers.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/tree_builder.h"

struct json_reader {
        struct tree_builder *builder;
        struct error *err;
        const char *text;
        size_t len, at;
        struct tree_mark mark; /* of text[at] */
        struct buf string;     /* the string read last, unescaped */
};

static int peek(const struct json_reader *reader) {
        return reader->at < reader->len ? (unsigned char)reader->text[reader->at] : -1;
}

/* Past @count bytes that hold no line break. */
static void advance(struct json_reader *reader, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (((unsigned char)reader->text[reader->at++] & 0xc0) != 0x80)
                        reader->mark.column++;
}

static void skip_space(struct json_reader *reader) {
        for (int c; (c = peek(reader)) == ' ' || c == '\t' || c == '\n' || c == '\r';) {
                advance(reader, 1);
                /* CR LF is one line break. */
                if (c == '\n' || (c == '\r' && peek(reader) != '\n'))
                        reader->mark = (struct tree_mark){reader->mark.line + 1, 1};
        }
}

static int expected(struct json_reader *reader, const char *what) {
        bool is_cut_off = peek(reader) < 0;

        reader->builder->is_cut_off = is_cut_off;
        return tree_builder_fail(reader->builder, EINVAL, reader->mark, reader->err, "%s%s%s",
                                 is_cut_off ? "the document ends where " : "expected ", what,
                                 is_cut_off ? " is expected" : "");
}

static bool read_hex4(const struct json_reader *reader, size_t at, unsigned *ret_value) {
        unsigned value = 0;

        if (reader->len - at < 4)
                return false;
        for (size_t i = at; i < at + 4; i++) {
                char c = reader->text[i];
                if (c >= '0' && c <= '9')
                        value = value * 16 + (unsigned)(c - '0');
                else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
                        value = value * 16 + (unsigned)((c | 0x20) - 'a') + 10;
                else
                        return false;
        }
        *ret_value = value;
        return true;
}

static void append_code_point(struct buf *buf, unsigned code) {
        if (code < 0x80) {
                buf_putc(buf, (char)code);
                return;
        }
        if (code < 0x800) {
                buf_putc(buf, (char)(0xc0 | code >> 6));
        } else {
                if (code < 0x10000) {
                        buf_putc(buf, (char)(0xe0 | code >> 12));
                } else {
                        buf_putc(buf, (char)(0xf0 | code >> 18));
                        buf_putc(buf, (char)(0x80 | (code >> 12 & 0x3f)));
                }
                buf_putc(buf, (char)(0x80 | (code >> 6 & 0x3f)));
        }
        buf_putc(buf, (char)(0x80 | (code & 0x3f)));
}

/* At the 'u' of an escape; a code point above U+FFFF is written as two, the surrogates. */
static int read_unicode_escape(struct json_reader *reader) {
        unsigned code = 0, low = 0;

        advance(reader, 1);
        if (!read_hex4(reader, reader->at, &code))
                return expected(reader, "four hexadecimal digits after \\u");
        size_t digits_len = 4;
        if (code >= 0xd800 && code < 0xe000) {
                size_t next = reader->at + 4;
                if (code >= 0xdc00 || reader->len - next < 6 ||
                    memcmp(reader->text + next, "\\u", 2) != 0 ||
                    !read_hex4(reader, next + 2, &low) || low < 0xdc00 || low >= 0xe000)
                        return expected(reader, "a surrogate pair");
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                digits_len = 10;
        }
        advance(reader, digits_len);
        append_code_point(&reader->string, code);
        return 0;
}

static int read_escape(struct json_reader *reader) {
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

        advance(reader, 1); /* the backslash */
        int c = peek(reader);
        if (c == 'u')
                return read_unicode_escape(reader);
        const char *name = c > 0 ? strchr(names, c) : NULL;
        if (!name)
                return expected(reader, "a JSON escape sequence");
        advance(reader, 1);
        buf_putc(&reader->string, values[name - names]);
        return 0;
}

/* At the opening quote; the text goes to reader->string. */
static int read_string(struct json_reader *reader) {
        buf_clear(&reader->string);
        buf_puts(&reader->string, ""); /* never NULL, also for an empty string */
        advance(reader, 1);
        for (int c; (c = peek(reader)) != '"';) {
                if (c < 0x20)
                        return expected(reader, c < 0 ? "the string's closing quote"
                                                      : "an escape instead of a control character");
                if (c == '\\') {
                        int r = read_escape(reader);
                        if (r < 0)
                                return r;
                        continue;
                }
                size_t sequence = utf8_sequence_len(reader->text + reader->at,
                                                    reader->len - reader->at);
                if (sequence == 0)
                        return expected(reader, "UTF-8 text");
                buf_append(&reader->string, reader->text + reader->at, sequence);
                advance(reader, sequence);
        }
        advance(reader, 1);
        return 0;
}

/* JSON's numbers are those of number_parse() less a plus sign, leading zeros and bare points. */
static bool is_json_number(const char *text, size_t len) {
        size_t first = len > 0 && text[0] == '-' ? 1 : 0;
        double ignored = 0;

        if (first == len || text[first] < '0' || text[first] > '9')
                return false;
        if (text[first] == '0' && len > first + 1 && text[first + 1] >= '0' &&
            text[first + 1] <= '9')
                return false;
        const char *point = memchr(text, '.', len);
        if (point && (point + 1 == text + len || point[1] < '0' || point[1] > '9'))
                return false;
        return number_parse(text, len, &ignored);
}

/* true, false, null or a number: all that stands without quotes. */
static int read_word(struct json_reader *reader) {
        const char *word = reader->text + reader->at;
        size_t len = 0;

        while (reader->at + len < reader->len && word[len] != '\0' &&
               strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", word[len]))
                len++;
        bool is_literal = (len == 4 && memcmp(word, "true", 4) == 0) ||
                          (len == 5 && memcmp(word, "false", 5) == 0) ||
                          (len == 4 && memcmp(word, "null", 4) == 0);
        if (!is_literal && !is_json_number(word, len))
                return expected(reader, "a value");
        int r = tree_builder_scalar(reader->builder, word, len, false, reader->mark, reader->err);
        advance(reader, len);
        return r;
}

static int read_key(struct json_reader *reader) {
        struct tree_mark at = reader->mark;

        if (peek(reader) != '"')
                return expected(reader, "a key in double quotes");
        int r = read_string(reader);
        if (r == 0)
                r = tree_builder_key(reader->builder, reader->string.data, reader->string.len, at,
                                     reader->err);
        if (r < 0)
                return r;
        skip_space(reader);
        if (peek(reader) != ':')
                return expected(reader, "':' after the key");
        advance(reader, 1);
        skip_space(reader);
        return 0;
}

static int read_value(struct json_reader *reader);

/* The builder refuses to begin below TREE_MAX_DEPTH, which bounds this recursion. */
static int read_container(struct json_reader *reader, enum tree_kind kind) {
        const char *end = kind == TREE_MAP ? "}" : "]";
        int r = tree_builder_begin(reader->builder, kind, reader->mark, reader->err);

        if (r < 0)
                return r;
        advance(reader, 1);
        skip_space(reader);
        for (bool is_first = true; peek(reader) != end[0]; is_first = false) {
                if (!is_first) {
                        if (peek(reader) != ',')
                                return expected(reader,
                                                kind == TREE_MAP ? "',' or '}'" : "',' or ']'");
                        advance(reader, 1);
                        skip_space(reader);
                }
                if (kind == TREE_MAP)
                        r = read_key(reader);
                if (r == 0)
                        r = read_value(reader);
                if (r < 0)
                        return r;
                skip_space(reader);
        }
        advance(reader, 1);
        tree_builder_end(reader->builder);
        return 0;
}

static int read_value(struct json_reader *reader) {
        struct tree_mark at = reader->mark;
        int r;

        switch (peek(reader)) {
        case '{':
                return read_container(reader, TREE_MAP);
        case '[':
                return read_container(reader, TREE_LIST);
        case '"':
                r = read_string(reader);
                if (r < 0)
                        return r;
                return tree_builder_scalar(reader->builder, reader->string.data, reader->string.len,
                                           true, at, reader->err);
        default:
                return read_word(reader);
        }
}

int tree_read_json(struct tree_builder *builder, const char *text, size_t len, struct error *err) {
        struct json_reader reader = {
                .builder = builder,
                .err = err,
                .text = text,
                .len = len,
                .mark = {1, 1},
                .string = BUF_INIT(TREE_MAX_BYTES),
        };

        skip_space(&reader);
        int r = read_value(&reader);
        if (r == 0) {
                skip_space(&reader);
                if (reader.at < len)
                        r = expected(&reader, "the document's end");
        }
        buf_done(&reader.string);
        return r;
}
