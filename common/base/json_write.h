/*
 * Writes JSON into a buffer, value by value. The text is the only state: a comma is written before
 * a value unless the text ends with `{`, `[`, `:` or a line break. JSON of other writers can be
 * appended in between.
 *
 * In an object, each value has a key. In an array and at the top level, the key is NULL. The caller
 * balances the brackets, and checks `out->overflow` at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** json_write_key() - the comma and the key; any writer appends exactly one value after it */
void json_write_key(struct buf *out, const char *key);
/** json_write_line() - the comma, if one is needed, and a line break before the next value */
void json_write_line(struct buf *out);

void json_write_object(struct buf *out, const char *key);
void json_write_object_end(struct buf *out);
void json_write_array(struct buf *out, const char *key);
void json_write_array_end(struct buf *out);

/** json_write_text() - a string, escaped like buf_json_string(); null for NULL */
void json_write_text(struct buf *out, const char *key, const char *text);
/** json_write_text_len() - a string of @len bytes, without a NUL at its end */
void json_write_text_len(struct buf *out, const char *key, const char *text, size_t len);
void json_write_int(struct buf *out, const char *key, int64_t value);
/** json_write_number() - with at most @digits significant digits; null for NaN and infinities,
 * which JSON does not have */
void json_write_number(struct buf *out, const char *key, double value, int digits);
void json_write_bool(struct buf *out, const char *key, bool value);
void json_write_null(struct buf *out, const char *key);
/** json_write_seconds() - a duration in seconds, with three decimals */
void json_write_seconds(struct buf *out, const char *key, int64_t duration_ms);
/** json_write_time() - the string of timestamp_format_ms(); null for 0 */
void json_write_time(struct buf *out, const char *key, int64_t at_unix_ms);
/** json_write_json() - a value that is already JSON */
void json_write_json(struct buf *out, const char *key, const char *json);
