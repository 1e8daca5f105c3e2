/*
 * UTF-8 as RFC 3629 allows it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#pragma once

#include <stddef.h>

/** utf8_sequence_len() - bytes of the valid sequence at @text, 0 when it is none (or cut off) */
static inline size_t utf8_sequence_len(const char *text, size_t len) {
        const unsigned char *s = (const unsigned char *)text;

        if (len == 0)
                return 0;
        if (s[0] < 0x80)
                return 1;
        if (s[0] < 0xc2)
                return 0;
        if (s[0] < 0xe0)
                return len >= 2 && (s[1] & 0xc0) == 0x80 ? 2 : 0;
        if (s[0] < 0xf0) {
                if (len < 3 || (s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
                        return 0;
                if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))
                        return 0;
                return 3;
        }
        if (s[0] > 0xf4 || len < 4 || (s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 ||
            (s[3] & 0xc0) != 0x80)
                return 0;
        if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
                return 0;
        return 4;
}

/** utf8_place() - the line and the column of text[at], both from 1, a column being a character */
static inline void utf8_place(const char *text, size_t at, unsigned *ret_line,
                              unsigned *ret_column) {
        *ret_line = *ret_column = 1;
        for (size_t i = 0; i < at; i++) {
                if (text[i] == '\n') {
                        ++*ret_line;
                        *ret_column = 1;
                } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
                        ++*ret_column;
                }
        }
}
