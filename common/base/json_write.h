/*
 * Writes JSON into a buffer, value by value, with nothing kept beside the text: a value is preceded
 * by a comma unless the text ends where none belongs, behind `{`, `[`, `:` or the end of a line. So
 * JSON of another writer may stand in between.
 *
 * Each value has a key inside an object; inside an array and at the top the key is NULL. Brackets
 * must match, which nobody checks. Nothing is reported when the buffer is full: look at
 * `out->overflow` at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** json_write_key() - the comma and the key; exactly one value must follow, written by whomever */
void json_write_key(struct buf *out, const char *key);
/** json_write_line() - the comma, if one is due, and a new line, on which the next value stands */
void json_write_line(struct buf *out);

void json_write_object(struct buf *out, const char *key);
void json_write_object_end(struct buf *out);
void json_write_array(struct buf *out, const char *key);
void json_write_array_end(struct buf *out);

/** json_write_text() - a string, escaped as by buf_json_string(); null for NULL */
void json_write_text(struct buf *out, const char *key, const char *text);
/** json_write_text_len() - the same for @len bytes, which no NUL ends */
void json_write_text_len(struct buf *out, const char *key, const char *text, size_t len);
void json_write_int(struct buf *out, const char *key, int64_t value);
/** json_write_number() - with at most @digits significant digits; null for NaN and the infinities,
 * which JSON lacks */
void json_write_number(struct buf *out, const char *key, double value, int digits);
void json_write_bool(struct buf *out, const char *key, bool value);
void json_write_null(struct buf *out, const char *key);
/** json_write_seconds() - a duration in seconds, with three decimals */
void json_write_seconds(struct buf *out, const char *key, int64_t duration_ms);
/** json_write_time() - a time as a string, by timestamp_format_ms() */
void json_write_time(struct buf *out, const char *key, int64_t at_unix_ms);
/** json_write_json() - a value that is JSON already */
void json_write_json(struct buf *out, const char *key, const char *json);
