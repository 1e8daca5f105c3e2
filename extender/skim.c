#include "extender/skim.h"

#include <stdint.h>

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
                /* A byte from 0x80 is odd by itself; below it, the terms' top bits tell. */
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

bool skim_string(struct skim *skim, struct skim_string *ret) {
        if (skim_peek(skim) != '"')
                return false;

        const char *text = skim->at + 1;
        bool is_escaped = false;
        const char *at = find_special(text, skim->end);
        while (at < skim->end && *at == '\\') {
                /* What follows the backslash is judged by whoever decodes it; here it only has
                 * to be no end of the string. */
                if (skim->end - at < 2)
                        return false;
                is_escaped = true;
                at = find_special(at + 2, skim->end);
        }
        if (at >= skim->end || *at != '"')
                return false;
        *ret = (struct skim_string){text, (size_t)(at - text), is_escaped};
        skim->at = at + 1;
        return true;
}

/* Behind the string whose opening quote stands before @at; NULL when it does not end. */
static const char *jump_string(const char *at, const char *end) {
        const char *begin = at;

        for (;;) {
                const char *quote = memchr(at, '"', (size_t)(end - at));
                if (!quote)
                        return NULL;
                const char *slash = quote;
                while (slash > begin && slash[-1] == '\\')
                        slash--;
                if ((quote - slash) % 2 == 0)
                        return quote + 1;
                at = quote + 1;
        }
}

/* What a byte means between the strings of a container that is jumped over. */
enum { PLAIN, QUOTE, OPEN, CLOSE };

static const uint8_t meaning[256] = {
        ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE,
};

/* Behind the container at @at; NULL when it does not end, ends crossed or nests too deeply. */
static const char *jump_container(const char *at, const char *end) {
        uint64_t objects = 0; /* one bit per level, the innermost lowest: object or array */
        unsigned depth = 0;

        while (at < end) {
                char c = *at++;
                switch (meaning[(unsigned char)c]) {
                case QUOTE:
                        at = jump_string(at, end);
                        if (!at)
                                return NULL;
                        break;
                case OPEN:
                        if (++depth > SKIM_MAX_DEPTH)
                                return NULL;
                        objects = objects << 1 | (c == '{');
                        break;
                case CLOSE:
                        if ((objects & 1) != (c == '}'))
                                return NULL;
                        objects >>= 1;
                        if (--depth == 0)
                                return at;
                        break;
                default:
                        break;
                }
        }
        return NULL;
}

static bool is_number_char(char c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool jump_literal(struct skim *skim, const char *literal) {
        size_t len = strlen(literal);

        if ((size_t)(skim->end - skim->at) < len || memcmp(skim->at, literal, len) != 0)
                return false;
        skim->at += len;
        return true;
}

bool skim_value(struct skim *skim) {
        const char *behind = NULL;

        switch (skim_peek(skim)) {
        case '"':
                behind = jump_string(skim->at + 1, skim->end);
                break;
        case '{':
        case '[':
                behind = jump_container(skim->at, skim->end);
                break;
        case 't':
                return jump_literal(skim, "true");
        case 'f':
                return jump_literal(skim, "false");
        case 'n':
                return jump_literal(skim, "null");
        default:
                for (behind = skim->at; behind < skim->end && is_number_char(*behind);)
                        behind++;
                if (behind == skim->at)
                        return false;
                break;
        }
        if (!behind)
                return false;
        skim->at = behind;
        return true;
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

enum skim_step skim_member(struct skim *skim, struct skim_string *ret_key) {
        enum skim_step step = next_item(skim, '}');

        if (step != SKIM_MORE)
                return step;
        if (!skim_string(skim, ret_key) || ret_key->is_escaped)
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
