/*
 * Numbers and durations as text, always whole strings: "0.65abc" is an error, not 0.65. The
 * decimal point is '.', whatever the locale says.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/** number_is_finite() - neither NaN nor infinite */
static inline bool number_is_finite(double value) {
        return isfinite(value) != 0;
}

/**
 * number_parse() - a decimal number: [+-] digits [. digits] [(e|E) [+-] digits]
 *
 * At least one digit before or after the point. No spaces, hexadecimal, NaN, infinity or digit
 * separators. A value that overflows to infinity is an error; one that underflows is 0. The
 * result is the double nearest to the text.
 * Return: true when all of @text's @len bytes are such a number
 */
_must_check_ bool number_parse(const char *text, size_t len, double *ret_value);

/** number_parse_unbounded() - the same, but a value that overflows is an infinity */
_must_check_ bool number_parse_unbounded(const char *text, size_t len, double *ret_value);

enum { NUMBER_TEXT_MAX = 32 };

/** number_format() - the fewest digits that number_parse() reads back as @value, which is finite */
void number_format(double value, char text[static NUMBER_TEXT_MAX]);

/** number_parse_u64() - decimal digits alone, no sign; false when empty, odd or too large */
_must_check_ bool number_parse_u64(const char *text, size_t len, uint64_t *ret_value);

/** number_parse_i64() - [-] decimal digits */
_must_check_ bool number_parse_i64(const char *text, size_t len, int64_t *ret_value);

/**
 * duration_parse() - a Go duration ("90s", "3m", "1h30m", "1.5h", "500ms", "-2m", "0")
 *
 * Syntax of Go's time.ParseDuration, as metav1.Duration reads it: units ns us µs ms s m h, no
 * bare number except 0. Rounded toward zero to milliseconds.
 * Return: 0; -EINVAL malformed; -ERANGE beyond what Go's int64 nanoseconds hold (292 years)
 */
_must_check_ int duration_parse(const char *text, size_t len, int64_t *ret_ms);

enum { DURATION_TEXT_MAX = 40 };

/** duration_format() - the shortest Go form: "3m", "1h30m", "1.5s", "500ms", "0s" */
void duration_format(int64_t duration_ms, char text[static DURATION_TEXT_MAX]);
