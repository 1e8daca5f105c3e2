#include "base/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* A unit stands before those that it begins with. Go accepts both spellings of micro. */
static const struct {
        const char *name;
        uint64_t ns;
} duration_units[] = {
        {"ns", 1},       {"us", 1000},      {"\xc2\xb5s", 1000}, {"\xce\xbcs", 1000},
        {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000},
};

static uint64_t unit_ns(const char *text, size_t len, size_t *ret_unit_len) {
        for (size_t u = 0; u < ARRAY_LEN(duration_units); u++) {
                size_t unit_len = strlen(duration_units[u].name);
                if (len >= unit_len && memcmp(text, duration_units[u].name, unit_len) == 0) {
                        *ret_unit_len = unit_len;
                        return duration_units[u].ns;
                }
        }
        return 0;
}

/* 0.@digits units, rounded toward zero. Digits after the 18th are less than a nanosecond. */
static uint64_t fraction_ns(const char *digits, size_t len, uint64_t ns_per_unit) {
        uint64_t numerator = 0, denominator = 1;

        for (size_t i = 0; i < len && i < 18; i++) {
                numerator = numerator * 10 + (uint64_t)(digits[i] - '0');
                denominator *= 10;
        }
        __extension__ unsigned __int128 product = (unsigned __int128)numerator * ns_per_unit;
        return (uint64_t)(product / denominator);
}

int duration_parse(const char *text, size_t len, int64_t *ret_ms) {
        size_t i = len > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;
        bool negative = i == 1 && text[0] == '-', is_too_large = false;
        uint64_t total_ns = 0; /* in integers: a double is off by milliseconds after 104 days */

        if (len == i)
                return -EINVAL;
        if (len == i + 1 && text[i] == '0') {
                *ret_ms = 0;
                return 0;
        }
        while (i < len) {
                size_t start = i, point, fraction_len = 0, unit_len = 0;
                point = i = number_skip_digits(text, len, i);
                if (i < len && text[i] == '.') {
                        i = number_skip_digits(text, len, i + 1);
                        fraction_len = i - point - 1;
                }
                if (point - start + fraction_len == 0)
                        return -EINVAL;
                uint64_t ns_per_unit = unit_ns(text + i, len - i, &unit_len);
                if (ns_per_unit == 0)
                        return -EINVAL;
                i += unit_len;
                uint64_t whole = 0, ns = 0;
                is_too_large |=
                        (point > start && !number_parse_u64(text + start, point - start, &whole)) ||
                        __builtin_mul_overflow(whole, ns_per_unit, &ns) ||
                        __builtin_add_overflow(total_ns, ns, &total_ns) ||
                        __builtin_add_overflow(
                                total_ns, fraction_ns(text + point + 1, fraction_len, ns_per_unit),
                                &total_ns);
        }
        if (is_too_large || total_ns > (uint64_t)INT64_MAX)
                return -ERANGE;
        int64_t ms = (int64_t)(total_ns / 1000000);
        *ret_ms = negative ? -ms : ms;
        return 0;
}

void duration_format(int64_t duration_ms, char text[static DURATION_TEXT_MAX]) {
        uint64_t ms = duration_ms < 0 ? ~(uint64_t)duration_ms + 1 : (uint64_t)duration_ms;
        const char *sign = duration_ms < 0 ? "-" : "";
        size_t len = (size_t)snprintf(text, DURATION_TEXT_MAX, "%s", sign);
        uint64_t hours = ms / 3600000, minutes = ms / 60000 % 60, rest_ms = ms % 60000;

        if (ms < 1000) {
                (void)snprintf(text + len, DURATION_TEXT_MAX - len, ms ? "%llums" : "%llus",
                               (unsigned long long)ms);
                return;
        }
        if (hours)
                len += (size_t)snprintf(text + len, DURATION_TEXT_MAX - len, "%lluh",
                                        (unsigned long long)hours);
        if (minutes)
                len += (size_t)snprintf(text + len, DURATION_TEXT_MAX - len, "%llum",
                                        (unsigned long long)minutes);
        if (rest_ms)
                (void)snprintf(text + len, DURATION_TEXT_MAX - len, "%gs", (double)rest_ms / 1e3);
}
