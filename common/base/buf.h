/*
 * A growing byte buffer with a ceiling. An append that would pass `max_bytes` changes nothing
 * and sets `overflow`, which stays set: a writer may append without checks and check once at the
 * end. `data` always ends in a NUL that `len` does not count (NULL only before the first append).
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

/** buf_done() - release the memory; the buffer may be used again */
void buf_done(struct buf *buf);
/** buf_clear() - empty it and keep the memory; also clears `overflow` */
void buf_clear(struct buf *buf);
/** buf_reserve() - room for @extra more bytes; false (and `overflow`) past the ceiling */
bool buf_reserve(struct buf *buf, size_t extra);
/** buf_append() - add @len bytes; false past the ceiling, nothing is then added */
bool buf_append(struct buf *buf, const void *data, size_t len);
bool buf_puts(struct buf *buf, const char *text);
bool buf_putc(struct buf *buf, char c);
bool buf_printf(struct buf *buf, const char *fmt, ...) _printf_(2, 3);
bool buf_vprintf(struct buf *buf, const char *fmt, va_list args) _printf_(2, 0);
/** buf_take() - the text, owned by the caller ("" when nothing was appended); empties @buf */
char *buf_take(struct buf *buf);
/** buf_percent_encode() - append @text as a URL's path segment or query value: as %XX all but the
 * unreserved characters of RFC 3986 2.3 */
bool buf_percent_encode(struct buf *buf, const char *text);
/**
 * buf_json_string() - append @text as a quoted, escaped JSON string, all of it or nothing
 *
 * Bad UTF-8 becomes U+FFFD. Also escaped is what JSON allows but a terminal or viewer might act
 * upon: DEL, the C1 controls, U+2028 and U+2029.
 */
bool buf_json_string(struct buf *buf, const char *text, size_t len);
