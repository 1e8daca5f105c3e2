#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_decimal_digit(char c) {
        return c >= '0' && c <= '9';
}

size_t number_skip_digits(const char *text, size_t len, size_t i) {
        while (i < len && is_decimal_digit(text[i]))
                i++;
        return i;
}

/*
 * If up to 18 digits fit 53 bits and a double holds the power of ten exactly, one multiplication or
 * division is enough: IEEE 754 rounds it once, and therefore correctly (Clinger, "How to read
 * floating point numbers accurately", 1990). strtod() reads all other numbers.
 */
enum { MANTISSA_DIGITS = 18, EXACT_POWER = 22 };

/* A decimal's digits as an integer, times a power of ten. */
struct decimal {
        uint64_t mantissa; /* meaningless after MANTISSA_DIGITS */
        size_t digits;
        int64_t exponent;
};

static size_t scan_digits(struct decimal *decimal, const char *text, size_t len, size_t i) {
        uint64_t mantissa = decimal->mantissa;
        size_t first = i;

        for (; i < len && is_decimal_digit(text[i]); i++)
                mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
        decimal->mantissa = mantissa;
        decimal->digits += i - first;
        return i;
}

/* @i: after the 'e'. The exponent saturates, far beyond any double's. Return: 0 if there is no
 * digit */
static size_t scan_exponent(struct decimal *decimal, const char *text, size_t len, size_t i) {
        bool is_negative = i < len && text[i] == '-';
        int64_t exponent = 0;

        if (i < len && (text[i] == '+' || text[i] == '-'))
                i++;
        size_t first = i;
        for (; i < len && is_decimal_digit(text[i]); i++) {
                if (exponent < 100000)
                        exponent = exponent * 10 + (text[i] - '0');
        }
        decimal->exponent += is_negative ? -exponent : exponent;
        return i > first ? i : 0;
}

/* A function of its own, so that usual numbers do not need its stack. */
static __attribute__((noinline)) double parse_slowly(const char *text, size_t len) {
        char copy[NUMBER_MAX_SLOW + 1];

        memcpy(copy, text, len);
        copy[len] = '\0';
        /* The programs never call setlocale(): the decimal point is '.'. */
        return strtod(copy, NULL);
}

size_t number_scan(const char *text, size_t len, double *ret_value) {
        static const double powers[EXACT_POWER + 1] = {
                1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        };
        struct decimal decimal = {0};
        bool is_negative = len > 0 && text[0] == '-';
        size_t start = len > 0 && (is_negative || text[0] == '+') ? 1 : 0;
        size_t i = scan_digits(&decimal, text, len, start);

        if (i < len && text[i] == '.') {
                size_t fraction = i + 1;
                i = scan_digits(&decimal, text, len, fraction);
                decimal.exponent = -(int64_t)(i - fraction);
        }
        if (decimal.digits == 0)
                return 0;
        if (i < len && (text[i] == 'e' || text[i] == 'E')) {
                i = scan_exponent(&decimal, text, len, i + 1);
                if (i == 0)
                        return 0;
        }
        if (decimal.digits > MANTISSA_DIGITS || decimal.mantissa > UINT64_C(1) << 53 ||
            decimal.exponent < -EXACT_POWER || decimal.exponent > EXACT_POWER) {
                if (i > NUMBER_MAX_SLOW)
                        return 0;
                *ret_value = parse_slowly(text, i);
                return i;
        }
        double value = (double)decimal.mantissa;
        if (decimal.exponent < 0)
                value /= powers[-decimal.exponent];
        else
                value *= powers[decimal.exponent];
        *ret_value = is_negative ? -value : value;
        return i;
}

bool number_parse_unbounded(const char *text, size_t len, double *ret_value) {
        double value = 0;

        if (len == 0 || number_scan(text, len, &value) != len)
                return false;
        *ret_value = value;
        return true;
}

bool number_parse(const char *text, size_t len, double *ret_value) {
        double value = 0;

        if (!number_parse_unbounded(text, len, &value) || !number_is_finite(value))
                return false;
        *ret_value = value;
        return true;
}

void number_format(double value, char text[static NUMBER_TEXT_MAX]) {
        /* A double can hold any 15 digits; 17 digits distinguish all doubles. */
        for (int digits = 15; digits < 17; digits++) {
                (void)snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        return;
        }
        (void)snprintf(text, NUMBER_TEXT_MAX, "%.17g", value);
}

bool number_parse_u64(const char *text, size_t len, uint64_t *ret_value) {
        uint64_t value = 0;

        if (len == 0)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (!is_decimal_digit(text[i]) || __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
                        return false;
        }
        *ret_value = value;
        return true;
}

bool number_parse_i64(const char *text, size_t len, int64_t *ret_value) {
        bool negative = len > 0 && text[0] == '-';
        uint64_t magnitude = 0;

        if (!number_parse_u64(text + negative, len - negative, &magnitude))
                return false;
        if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
                return false;
        *ret_value = negative ? (int64_t)(~magnitude + 1) : (int64_t)magnitude;
        return true;
}
