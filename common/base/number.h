/*
 * Numbers as text. All functions except number_scan() read the whole string: "0.65abc" is an error,
 * not 0.65. The decimal point is '.': the programs never call setlocale().
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
 * There is at least one digit before or after the point, and no space, hexadecimal, NaN, infinity
 * or digit separator. An overflow to infinity is an error; an underflow gives 0. The result is the
 * nearest double. A number with more than 18 digits, or with an exponent beyond 22, can have up to
 * NUMBER_MAX_SLOW bytes.
 * Return: true if all @len bytes of @text are such a number
 */
_must_check_ bool number_parse(const char *text, size_t len, double *ret_value);

/** number_parse_unbounded() - like number_parse(), but an overflow gives infinity */
_must_check_ bool number_parse_unbounded(const char *text, size_t len, double *ret_value);

/**
 * number_scan() - the number at the start of @text, as number_parse_unbounded() reads it
 * Return: its length, at most @len; 0 if there is none ("e5", "1e", "-.")
 */
_must_check_ size_t number_scan(const char *text, size_t len, double *ret_value);

enum { NUMBER_TEXT_MAX = 32 };

/** number_format() - a finite @value in 15 to 17 significant digits, so that number_parse() reads
 * the same value; without trailing zeros */
void number_format(double value, char text[static NUMBER_TEXT_MAX]);

/** number_plural() - the ending of a noun after @count: "1 node", "2 nodes" */
static inline const char *number_plural(uint64_t count) {
        return count == 1 ? "" : "s";
}

/** number_parse_u64() - decimal digits without a sign; false if empty, malformed or too large */
_must_check_ bool number_parse_u64(const char *text, size_t len, uint64_t *ret_value);

/** number_parse_i64() - an optional '-', then decimal digits */
_must_check_ bool number_parse_i64(const char *text, size_t len, int64_t *ret_value);

/** number_skip_digits() - the index of the first byte from @i that is not a digit, or @len */
size_t number_skip_digits(const char *text, size_t len, size_t i);
