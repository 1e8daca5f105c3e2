#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool is_decimal_digit(char c) {
        return c >= '0' && c <= '9';
}

size_t number_skip_digits(const char *text, size_t len, size_t i) {
        while (i < len && is_decimal_digit(text[i]))
                i++;
        return i;
}

/* The grammar of number_parse_unbounded(); strtod() accepts far more. */
static bool is_decimal(const char *text, size_t len) {
        size_t i = len > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;
        size_t start = i;

        i = number_skip_digits(text, len, i);
        size_t digits = i - start;
        if (i < len && text[i] == '.') {
                start = ++i;
                i = number_skip_digits(text, len, i);
                digits += i - start;
        }
        if (digits == 0)
                return false;
        if (i < len && (text[i] == 'e' || text[i] == 'E')) {
                i++;
                if (i < len && (text[i] == '+' || text[i] == '-'))
                        i++;
                start = i;
                i = number_skip_digits(text, len, i);
                if (i == start)
                        return false;
        }
        return i == len;
}

bool number_parse_unbounded(const char *text, size_t len, double *ret_value) {
        char local[64];

        if (!is_decimal(text, len))
                return false;
        _cleanup_(freep) char *heap = len >= sizeof(local) ? xmalloc(len + 1) : NULL;
        char *copy = heap ? heap : local;
        memcpy(copy, text, len);
        copy[len] = '\0';

        /* No program of ours calls setlocale(), so the decimal point is '.'. */
        *ret_value = strtod(copy, NULL);
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
        /* A double holds any 15 digits; 17 distinguish any two doubles. */
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
