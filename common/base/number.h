/*
 * Numbers as text. All but number_scan() read whole strings: "0.65abc" is an error, not 0.65. The
 * decimal point is '.': the programs never call setlocale().
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

enum { NUMBER_MAX_SLOW = 1023 };

/**
 * number_parse() - a decimal number: [+-] digits [. digits] [(e|E) [+-] digits]
 *
 * At least one digit before or after the point. No spaces, hexadecimal, NaN, infinity or digit
 * separators. A value that overflows to infinity is an error; one that underflows is 0. The
 * result is the double nearest to the text. A number of more than 18 digits, or with an exponent
 * beyond 22, may have NUMBER_MAX_SLOW bytes; one that is longer is an error.
 * Return: true when all of @text's @len bytes are such a number
 */
_must_check_ bool number_parse(const char *text, size_t len, double *ret_value);

/** number_parse_unbounded() - the same, but a value that overflows is an infinity */
_must_check_ bool number_parse_unbounded(const char *text, size_t len, double *ret_value);

/**
 * number_scan() - the number that @text begins with, as number_parse_unbounded() reads it
 *
 * Return: its length, of @len bytes at most; 0 where there is none ("e5", "1e", "-.")
 */
_must_check_ size_t number_scan(const char *text, size_t len, double *ret_value);

enum { NUMBER_TEXT_MAX = 32 };

/** number_format() - @value, which is finite, in 15 to 17 significant digits, as many as
 * number_parse() needs to read the same value back; zeros at the end are left out */
void number_format(double value, char text[static NUMBER_TEXT_MAX]);

/** number_plural() - what a noun ends in after @count: "1 node", "2 nodes" */
static inline const char *number_plural(uint64_t count) {
        return count == 1 ? "" : "s";
}

/** number_parse_u64() - only decimal digits, no sign; false when empty, malformed or too large */
_must_check_ bool number_parse_u64(const char *text, size_t len, uint64_t *ret_value);

/** number_parse_i64() - an optional '-', then decimal digits */
_must_check_ bool number_parse_i64(const char *text, size_t len, int64_t *ret_value);

/** number_skip_digits() - the index of the first byte from @i on that is no decimal digit, or @len
 */
size_t number_skip_digits(const char *text, size_t len, size_t i);
