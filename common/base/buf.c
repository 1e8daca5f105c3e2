#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { BUF_FIRST_BYTES = 256 };

void buf_done(struct buf *buf) {
        free(buf->data);
        *buf = BUF_INIT(buf->max_bytes);
}

void buf_clear(struct buf *buf) {
        buf->len = 0;
        buf->overflow = false;
        if (buf->data)
                buf->data[0] = '\0';
}

bool buf_reserve(struct buf *buf, size_t extra) {
        if (extra < buf->cap - buf->len) /* one byte is for the NUL */
                return true;
        if (extra > buf->max_bytes || buf->len > buf->max_bytes - extra) {
                buf->overflow = true;
                return false;
        }
        size_t need = buf->len + extra + 1;
        size_t cap = buf->cap ? buf->cap : BUF_FIRST_BYTES;
        while (cap < need)
                cap += cap / 2;
        cap = size_min(cap, buf->max_bytes + 1);
        buf->data = xrealloc(buf->data, cap);
        buf->cap = cap;
        return true;
}

bool buf_append(struct buf *buf, const void *data, size_t len) {
        if (!buf_reserve(buf, len))
                return false;
        if (len > 0)
                memcpy(buf->data + buf->len, data, len);
        buf->len += len;
        buf->data[buf->len] = '\0';
        return true;
}

bool buf_puts(struct buf *buf, const char *text) {
        return buf_append(buf, text, strlen(text));
}

bool buf_putc(struct buf *buf, char c) {
        if (!buf_reserve(buf, 1))
                return false;
        buf->data[buf->len++] = c;
        buf->data[buf->len] = '\0';
        return true;
}

bool buf_vprintf(struct buf *buf, const char *fmt, va_list args) {
        va_list again;

        va_copy(again, args);
        int len = vsnprintf(NULL, 0, fmt, args);
        bool has_room = buf_reserve(buf, (size_t)len); /* -1 is beyond any ceiling */
        if (has_room) {
                (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
                buf->len += (size_t)len;
        }
        va_end(again);
        return has_room;
}

bool buf_printf(struct buf *buf, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        bool has_room = buf_vprintf(buf, fmt, args);
        va_end(args);
        return has_room;
}

char *buf_take(struct buf *buf) {
        char *text = buf->data ? buf->data : xstrdup("");

        *buf = BUF_INIT(buf->max_bytes);
        return text;
}

bool buf_percent_encode(struct buf *buf, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;
                bool is_unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                     (c >= '0' && c <= '9') || strchr("-._~", c);
                if (is_unreserved)
                        buf_putc(buf, (char)c);
                else
                        buf_printf(buf, "%%%02X", c);
        }
        return !buf->overflow;
}

/* The C1 controls (two bytes), or the line and paragraph separators (three). */
static bool is_hidden_break(const char *text, size_t sequence) {
        const unsigned char *s = (const unsigned char *)text;

        return (sequence == 2 && s[0] == 0xc2 && s[1] < 0xa0) ||
               (sequence == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] | 1) == 0xa9);
}

/* Escapes what JSON requires, and what moves a terminal's cursor or breaks a line in a viewer. */
static bool append_json_character(struct buf *buf, const char *text, size_t sequence) {
        unsigned char c = (unsigned char)text[0];

        if (sequence == 0)
                return buf_puts(buf, "\\ufffd");
        if (c == '"' || c == '\\')
                return buf_printf(buf, "\\%c", c);
        if (c == '\n')
                return buf_puts(buf, "\\n");
        if (c == '\t')
                return buf_puts(buf, "\\t");
        if (c < 0x20 || c == 0x7f)
                return buf_printf(buf, "\\u%04x", c);
        if (is_hidden_break(text, sequence))
                return sequence == 2 ? buf_printf(buf, "\\u%04x", (unsigned char)text[1])
                                     : buf_printf(buf, "\\u20%02x", (unsigned char)text[2] - 0x80u);
        return buf_append(buf, text, sequence);
}

/* The number of printable ASCII characters at the start of @text that need no escape. */
static size_t plain_len(const char *text, size_t len) {
        size_t i = 0;

        while (i < len && text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\')
                i++;
        return i;
}

/* Most strings need no escape at all. */
static bool append_plain_string(struct buf *buf, const char *text, size_t len) {
        if (!buf_reserve(buf, len + 2))
                return false;
        char *at = buf->data + buf->len;
        at[0] = '"';
        if (len > 0) /* otherwise it may be NULL */
                memcpy(at + 1, text, len);
        memcpy(at + 1 + len, "\"", 2);
        buf->len += len + 2;
        return true;
}

bool buf_json_string(struct buf *buf, const char *text, size_t len) {
        if (plain_len(text, len) == len)
                return append_plain_string(buf, text, len);

        size_t before = buf->len;
        bool ok = buf_putc(buf, '"');

        for (size_t i = 0; ok && i < len;) {
                size_t plain = plain_len(text + i, len - i);
                if (plain > 0) {
                        ok = buf_append(buf, text + i, plain);
                        i += plain;
                        continue;
                }
                size_t sequence = utf8_sequence_len(text + i, len - i);
                ok = append_json_character(buf, text + i, sequence);
                i += size_max(sequence, 1);
        }
        if (ok && buf_putc(buf, '"'))
                return true;
        buf->len = before; /* no half strings */
        if (buf->data)
                buf->data[before] = '\0';
        return false;
}
