#include "codec/skim.h"

#include <stdint.h>

#include "base/utf8.h"
#include "codec/json.h"

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
 * The first byte at or behind @at that is a quote, a backslash or no printable ASCII, or @end.
 * Eight bytes at a time: a byte of (x ^ pattern) - 1 borrows its top bit when it was 0. The
 * borrow may run on into higher bytes, so only the lowest mark is exact: the one we want.
 */
static const char *find_special(const char *at, const char *end) {
        const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

        while (end - at >= 8) {
                uint64_t word;
                memcpy(&word, at, 8);
                uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
                uint64_t marks = (quote - ones) | (backslash - ones) | (word - ones * 0x20);
                /* A byte from 0x80 is marked by its own top bit, one below it by the terms'. */
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
 * Jumps: where what stands at @at ends, or NULL when it is no JSON. A value that is jumped over may
 * be echoed, and one that is malformed would spoil the whole reply.
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

/* Behind the backslash. Half a surrogate pair is JSON by its grammar. */
static const char *jump_escape(const char *at, const char *end) {
        if (at < end && *at == 'u') {
                for (int i = 1; i <= 4; i++)
                        if (end - at <= i || !is_hex(at[i]))
                                return NULL;
                return at + 5;
        }
        return at < end && *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

/* Behind the opening quote. */
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

/* A member's key, its colon and the blanks around that. */
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
        const char *behind = jump_value(skim->at, skim->end);

        if (!behind)
                return false;
        skim->at = behind;
        return true;
}

bool skim_string(struct skim *skim, struct skim_string *ret) {
        if (skim_peek(skim) != '"')
                return false;

        const char *text = skim->at + 1, *behind = find_special(text, skim->end);
        bool is_escaped = behind < skim->end && *behind != '"';
        if (is_escaped)
                behind = jump_string(behind, skim->end);
        else
                behind = behind < skim->end ? behind + 1 : NULL;
        if (!behind)
                return false;
        *ret = (struct skim_string){text, (size_t)(behind - 1 - text), is_escaped};
        skim->at = behind;
        return true;
}

bool skim_decode(const struct skim_string *string, char *ret_text, size_t cap) {
        json_auto_t *decoded = NULL;
        const char *text = string->text;
        size_t len = string->len;

        if (string->is_escaped) {
                decoded = json_loadb(text - 1, len + 2, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                text = json_string_value(decoded);
                len = json_string_length(decoded);
        }
        size_t kept = size_min(len, cap - 1);
        if (kept > 0)
                memcpy(ret_text, text, kept);
        ret_text[kept] = '\0';
        return text && strlen(ret_text) == len;
}

bool skim_plain_text(struct skim *skim, struct skim_string *ret) {
        struct skim behind = *skim;

        if (skim_string(&behind, ret) && !ret->is_escaped) {
                *skim = behind;
                return true;
        }
        skim->has_odd_text |= skim_peek(skim) == '"';
        *ret = (struct skim_string){"", 0, false};
        return skim_value(skim);
}

/* To the next item of a container that @close ends. */
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

static enum skim_step next_member(struct skim *skim, bool takes_any, struct skim_string *ret_key) {
        enum skim_step step = next_item(skim, '}');

        if (step != SKIM_MORE)
                return step;
        if (!skim_string(skim, ret_key) || (ret_key->is_escaped && !takes_any))
                return SKIM_ODD;
        skip_blanks(skim);
        if (skim_peek(skim) != ':')
                return SKIM_ODD;
        skim->at++;
        skip_blanks(skim);
        return SKIM_MORE;
}

enum skim_step skim_member(struct skim *skim, struct skim_string *ret_key) {
        return next_member(skim, false, ret_key);
}

enum skim_step skim_any_member(struct skim *skim, struct skim_string *ret_key) {
        return next_member(skim, true, ret_key);
}

enum skim_step skim_element(struct skim *skim) {
        return next_item(skim, ']');
}
