#include "codec/skim.h"

#include <stdint.h>

#include "base/utf8.h"

static inline void skip_blanks(struct skim *skim) {
        while (skim->at < skim->end &&
               (*skim->at == ' ' || *skim->at == '\t' || *skim->at == '\r' || *skim->at == '\n'))
                skim->at++;
}

void skim_init(struct skim *skim, const char *text, size_t len) {
        *skim = (struct skim){.at = text, .end = text + len, .is_first = true};
        skip_blanks(skim);
}

bool skim_at_end(struct skim *skim) {
        skip_blanks(skim);
        return skim->at == skim->end;
}

bool skim_is_null(const struct skim *skim) {
        return skim->end - skim->at >= 4 && memcmp(skim->at, "null", 4) == 0;
}

/*
 * The first byte from @at that is a quote, a backslash or not printable ASCII; @end if there is
 * none. Checks eight bytes at a time: a byte of (x ^ pattern) - 1 borrows from its top bit if it
 * was 0. The borrow can continue into higher bytes, so that only the lowest mark is exact: the one
 * we need.
 */
static const char *find_special(const char *at, const char *end) {
        const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

        while (end - at >= 8) {
                uint64_t word;
                memcpy(&word, at, 8);
                uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
                uint64_t marks = (quote - ones) | (backslash - ones) | (word - ones * 0x20);
                /* A byte from 0x80 has its own top bit as its mark. */
                marks = (marks | word) & tops;
                if (marks != 0) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                        return at + (__builtin_ctzll(marks) >> 3);
#else
                        break;
#endif
                }
                at += 8;
        }
        for (; at < end; at++) {
                unsigned char c = (unsigned char)*at;
                if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80)
                        break;
        }
        return at;
}

/*
 * Jumps return the end of what is at @at, or NULL if it is not JSON. A skipped value may be echoed,
 * and a malformed one would invalidate the whole reply.
 */

static inline const char *jump_blanks(const char *at, const char *end) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
                at++;
        return at;
}

static inline bool skim_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
        return skim_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* @at: after the backslash. Half a surrogate pair is valid JSON. */
static const char *jump_escape(const char *at, const char *end) {
        if (at < end && *at == 'u') {
                for (int i = 1; i <= 4; i++)
                        if (end - at <= i || !is_hex(at[i]))
                                return NULL;
                return at + 5;
        }
        return at < end && *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

/* @at: after the opening quote. */
static const char *jump_string(const char *at, const char *end) {
        while (at && (at = find_special(at, end)) < end) {
                unsigned char c = (unsigned char)*at;
                if (c == '"')
                        return at + 1;
                if (c == '\\') {
                        at = jump_escape(at + 1, end);
                } else {
                        size_t sequence = c < 0x80 ? 0 : utf8_sequence_len(at, (size_t)(end - at));
                        at = sequence > 0 ? at + sequence : NULL;
                }
        }
        return NULL;
}

static const char *jump_digits(const char *at, const char *end) {
        const char *begin = at;

        while (at < end && skim_is_digit(*at))
                at++;
        return at > begin ? at : NULL;
}

static const char *jump_number(const char *at, const char *end) {
        if (*at == '-')
                at++;
        at = at < end && *at == '0' ? at + 1 : jump_digits(at, end);
        if (at && at < end && *at == '.')
                at = jump_digits(at + 1, end);
        if (at && at < end && (*at == 'e' || *at == 'E')) {
                at++;
                if (at < end && (*at == '+' || *at == '-'))
                        at++;
                at = jump_digits(at, end);
        }
        return at;
}

static const char *jump_word(const char *at, const char *end, const char *word) {
        size_t len = strlen(word);

        return (size_t)(end - at) >= len && memcmp(at, word, len) == 0 ? at + len : NULL;
}

static inline const char *jump_scalar(const char *at, const char *end) {
        switch (*at) {
        case '"':
                return jump_string(at + 1, end);
        case 't':
                return jump_word(at, end, "true");
        case 'f':
                return jump_word(at, end, "false");
        case 'n':
                return jump_word(at, end, "null");
        default:
                return jump_number(at, end);
        }
}

/* The key of a member, the colon and the blanks around it. */
static inline const char *jump_key(const char *at, const char *end) {
        if (at == end || *at != '"')
                return NULL;
        at = jump_string(at + 1, end);
        if (!at)
                return NULL;
        at = jump_blanks(at, end);
        return at < end && *at == ':' ? jump_blanks(at + 1, end) : NULL;
}

static const char *jump_value(const char *at, const char *end) {
        uint64_t objects = 0; /* one bit per level, the innermost lowest: object or array */
        unsigned depth = 0;

        while (at && at < end) {
                char c = *at;
                if (c == '{' || c == '[') {
                        if (++depth > SKIM_MAX_DEPTH)
                                return NULL;
                        objects = objects << 1 | (c == '{');
                        at = jump_blanks(at + 1, end);
                        if (at < end && *at != (c == '{' ? '}' : ']')) {
                                at = c == '{' ? jump_key(at, end) : at;
                                continue;
                        }
                } else {
                        at = jump_scalar(at, end);
                        if (!at || depth == 0)
                                return at;
                        at = jump_blanks(at, end);
                }
                while (at < end && *at == (objects & 1 ? '}' : ']')) {
                        at++;
                        objects >>= 1;
                        if (--depth == 0)
                                return at;
                        at = jump_blanks(at, end);
                }
                if (at == end || *at != ',')
                        return NULL;
                at = jump_blanks(at + 1, end);
                if (objects & 1)
                        at = jump_key(at, end);
        }
        return NULL;
}

bool skim_value(struct skim *skim) {
        const char *after = jump_value(skim->at, skim->end);

        if (!after)
                return false;
        skim->at = after;
        return true;
}

bool skim_string(struct skim *skim, struct skim_string *ret) {
        if (skim_peek(skim) != '"')
                return false;

        const char *text = skim->at + 1, *after = find_special(text, skim->end);
        bool is_escaped = after < skim->end && *after != '"';
        if (is_escaped)
                after = jump_string(after, skim->end);
        else
                after = after < skim->end ? after + 1 : NULL;
        if (!after)
                return false;
        *ret = (struct skim_string){text, (size_t)(after - 1 - text), is_escaped};
        skim->at = after;
        return true;
}

static uint32_t hex_digit(char c) {
        return (uint32_t)(skim_is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* The four digits at @at. skim_string() has checked all escapes. */
static uint32_t code_unit(const char *at) {
        return hex_digit(at[0]) << 12 | hex_digit(at[1]) << 8 | hex_digit(at[2]) << 4 |
               hex_digit(at[3]);
}

static size_t put_utf8(uint32_t code_point, char ret[static 4]) {
        size_t len = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};

        for (size_t i = len; i-- > 1; code_point >>= 6)
                ret[i] = (char)(0x80 | (code_point & 0x3f));
        ret[0] = (char)(leads[len] | code_point);
        return len;
}

/* Decodes the escape at @*at to UTF-8. Return: its length; 0: half a surrogate pair */
static size_t decode_escape(const char **at, const char *end, char ret[static 4]) {
        static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        const char *after = *at + 2;

        if (after[-1] != 'u') {
                *at = after;
                ret[0] = meanings[strchr(letters, after[-1]) - letters];
                return 1;
        }
        uint32_t code_point = code_unit(after);
        after += 4;
        if (code_point >> 10 == 0xd800 >> 10 && end - after >= 6 && after[0] == '\\' &&
            after[1] == 'u' && code_unit(after + 2) >> 10 == 0xdc00 >> 10) {
                code_point = 0x10000 +
                             ((code_point & 0x3ff) << 10 | (code_unit(after + 2) & 0x3ff));
                after += 6;
        }
        *at = after;
        return code_point >> 11 == 0xd800 >> 11 ? 0 : put_utf8(code_point, ret);
}

bool skim_decode(const struct skim_string *string, char *ret_text, size_t cap) {
        const char *at = string->text, *end = string->len > 0 ? at + string->len : at;
        size_t len = 0;

        ret_text[0] = '\0';
        while (at < end) {
                char escaped[4];
                const char *escape = string->is_escaped ? memchr(at, '\\', (size_t)(end - at))
                                                        : NULL;
                size_t plain = (size_t)((escape ? escape : end) - at);
                size_t kept = size_min(strnlen(at, plain), cap - 1 - len);
                memcpy(ret_text + len, at, kept);
                len += kept;
                ret_text[len] = '\0';
                at += plain;
                if (kept < plain)
                        return false;
                if (!escape)
                        break;
                size_t bytes = decode_escape(&at, end, escaped);
                if (bytes == 0 || escaped[0] == '\0' || bytes >= cap - len)
                        return false;
                memcpy(ret_text + len, escaped, bytes);
                len += bytes;
                ret_text[len] = '\0';
        }
        return true;
}

bool skim_plain_text(struct skim *skim, struct skim_string *ret) {
        bool is_text = skim_peek(skim) == '"';
        bool is_well = is_text ? skim_string(skim, ret) : skim_value(skim);

        if (is_text && is_well && !ret->is_escaped)
                return true;
        skim->has_odd_text |= is_text;
        *ret = (struct skim_string){"", 0, false};
        return is_well;
}

/* Goes to the next item of a container that ends with @close. */
static enum skim_step next_item(struct skim *skim, char close) {
        bool is_first = skim->is_first;

        skim->is_first = false;
        skip_blanks(skim);
        if (skim_peek(skim) == close) {
                skim->at++;
                return SKIM_END;
        }
        if (!is_first) {
                if (skim_peek(skim) != ',')
                        return SKIM_ODD;
                skim->at++;
                skip_blanks(skim);
        }
        return skim->at < skim->end ? SKIM_MORE : SKIM_ODD;
}

enum skim_step skim_member(struct skim *skim, struct skim_string *ret_key) {
        enum skim_step step = next_item(skim, '}');

        if (step != SKIM_MORE)
                return step;
        if (!skim_string(skim, ret_key))
                return SKIM_ODD;
        skip_blanks(skim);
        if (skim_peek(skim) != ':')
                return SKIM_ODD;
        skim->at++;
        skip_blanks(skim);
        return SKIM_MORE;
}

enum skim_step skim_element(struct skim *skim) {
        return next_item(skim, ']');
}
