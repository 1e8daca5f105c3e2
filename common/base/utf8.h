/*
 * UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** utf8_sequence_len() - the length of the sequence at @text; 0 if it is invalid or cut off */
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

/**
 * utf8_is_graphic() - whether a valid sequence is displayed as itself: it is neither a
 * control character nor a format character, such as U+202E, that changes how other text is
 * displayed
 */
static inline bool utf8_is_graphic(const char *text, size_t len) {
        /* General category Cf, and the line ends U+2028 and U+2029; Unicode 15.1 */
        static const struct {
                uint32_t first, last;
        } hidden[] = {
                {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
                {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
                {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
                {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
                {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                {0xe0000, 0xe007f},
        };
        const unsigned char *s = (const unsigned char *)text;
        uint32_t code = len == 1 ? s[0] : s[0] & (0x7fU >> len);

        for (size_t i = 1; i < len; i++)
                code = code << 6 | (s[i] & 0x3f);
        for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
                if (code >= hidden[i].first && code <= hidden[i].last)
                        return false;
        return true;
}

/** utf8_place() - line and column of text[at], both 1-based; a column is a character */
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
