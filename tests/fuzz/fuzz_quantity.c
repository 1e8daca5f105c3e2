/*
 * Amounts: a suffix scales what stands before it and nothing else, a sign turns it around, and what
 * is no number of ours has no suffix that makes it one.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/quantity.h"
#include "fuzz.h"

static bool is_close(double a, double b) {
        return fabs(a - b) <= 1e-12 * fabs(b);
}

static bool parse_with(const char *text, size_t len, const char *suffix, double *ret) {
        _cleanup_(freep) char *longer = xmalloc(len + 2);

        if (len > 0)
                memcpy(longer, text, len);
        memcpy(longer + len, suffix, strlen(suffix));
        return quantity_parse(longer, len + strlen(suffix), ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const decimal[] = {"k", "M", "G", "T", "P", "E"};
        static const char *const binary[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
        _cleanup_(freep) char *text = xmalloc(size);
        double value = 42, number = 42, scaled = 42, times_decimal = 1, times_binary = 1;

        if (size > 0)
                memcpy(text, data, size);
        bool is_amount = quantity_parse(text, size, &value);
        bool is_number = number_parse_unbounded(text, size, &number);

        require(is_amount || value == 42);
        require(!is_amount || fabs(value) <= QUANTITY_MAX);
        require(!is_number || is_amount);
        require(!is_number || fabs(number) > QUANTITY_MAX || value == number);
        bool has_exponent = memchr(text, 'e', size) || memchr(text, 'E', size);
        bool takes_suffix = is_number && !has_exponent;
        for (size_t i = 0; i < ARRAY_LEN(decimal); i++) {
                times_decimal *= 1e3;
                require(parse_with(text, size, decimal[i], &scaled) == takes_suffix);
                if (takes_suffix && fabs(number * times_decimal) < QUANTITY_MAX)
                        require(is_close(scaled, number * times_decimal));
                times_binary *= 1024;
                require(parse_with(text, size, binary[i], &scaled) == takes_suffix);
                if (takes_suffix && fabs(number * times_binary) < QUANTITY_MAX)
                        require(is_close(scaled, number * times_binary));
        }
        require(parse_with(text, size, "m", &scaled) == takes_suffix);
        if (takes_suffix && fabs(number) < QUANTITY_MAX)
                require(is_close(scaled, number / 1e3));
        if (is_amount && size > 0 && text[0] == '-') {
                text[0] = '+';
                require(quantity_parse(text, size, &number) && number == -value);
        }
        return 0;
}
