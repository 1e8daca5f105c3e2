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
        if (extra > buf->max_bytes || buf->len > buf->max_bytes - extra) {
                buf->overflow = true;
                return false;
        }
        size_t need = buf->len + extra + 1;
        if (need <= buf->cap)
                return true;
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
        return buf_append(buf, &c, 1);
}

bool buf_printf(struct buf *buf, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        int len = vsnprintf(NULL, 0, fmt, args);
        va_end(args);
        if (len < 0 || !buf_reserve(buf, (size_t)len))
                return false;
        va_start(args, fmt);
        (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, args);
        va_end(args);
        buf->len += (size_t)len;
        return true;
}

char *buf_take(struct buf *buf) {
        char *text = buf->data ? buf->data : xstrdup("");

        *buf = BUF_INIT(buf->max_bytes);
        return text;
}

bool buf_json_string(struct buf *buf, const char *text, size_t len) {
        bool ok = buf_putc(buf, '"');

        for (size_t i = 0; i < len;) {
                unsigned char c = (unsigned char)text[i];
                size_t run = 0;
                if (c == '"' || c == '\\')
                        ok &= buf_printf(buf, "\\%c", c);
                else if (c == '\n')
                        ok &= buf_puts(buf, "\\n");
                else if (c == '\t')
                        ok &= buf_puts(buf, "\\t");
                else if (c < 0x20 || c == 0x7f)
                        ok &= buf_printf(buf, "\\u%04x", c);
                else if ((run = utf8_sequence_len(text + i, len - i)) > 0)
                        ok &= buf_append(buf, text + i, run);
                else
                        ok &= buf_puts(buf, "\\ufffd");
                i += run ? run : 1;
        }
        return buf_putc(buf, '"') && ok;
}
