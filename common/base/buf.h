/*
 * A growing byte buffer with a ceiling. An append that would exceed `max_bytes` changes nothing and
 * sets `overflow`, which stays set: a writer can append without checks and check once at the end.
 * `data` is NULL before the first append; after that, it always ends with a NUL, which `len` does
 * not count.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct buf {
        char *data;
        size_t len;
        size_t cap;
        size_t max_bytes;
        bool overflow;
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

/** buf_done() - release the memory; the buffer can be used again */
void buf_done(struct buf *buf);
/** buf_clear() - empty it and keep the memory; also clears `overflow` */
void buf_clear(struct buf *buf);
/** buf_reserve() - make room for @extra more bytes; false, with `overflow`, past the ceiling */
bool buf_reserve(struct buf *buf, size_t extra);
/** buf_append() - add @len bytes; false past the ceiling: then nothing is added */
bool buf_append(struct buf *buf, const void *data, size_t len);
bool buf_puts(struct buf *buf, const char *text);
bool buf_putc(struct buf *buf, char c);
bool buf_printf(struct buf *buf, const char *fmt, ...) _printf_(2, 3);
bool buf_vprintf(struct buf *buf, const char *fmt, va_list args) _printf_(2, 0);
/** buf_take() - hand over the text ("" if nothing was appended) to the caller; empties @buf */
char *buf_take(struct buf *buf);
/** buf_percent_encode() - append @text as a path segment or query value of a URL: all characters
 * except the unreserved ones (RFC 3986, 2.3) become %XX */
bool buf_percent_encode(struct buf *buf, const char *text);
/**
 * buf_json_string() - append @text as a quoted, escaped JSON string, all of it or nothing
 *
 * Bad UTF-8 becomes U+FFFD. Characters that JSON allows but that a terminal or viewer may act on
 * are escaped as well: DEL, the C1 controls, U+2028 and U+2029.
 */
bool buf_json_string(struct buf *buf, const char *text, size_t len);
