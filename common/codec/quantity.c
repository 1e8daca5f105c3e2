#include "codec/quantity.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "codec/json.h"

static const struct {
        const char *text;
        double times, over; /* one of them is 1: no double is exactly 1e-9, but 1e9 is one */
} suffixes[] = {
        {"n", 1, 1e9},     {"u", 1, 1e6},     {"m", 1, 1e3},     {"k", 1e3, 1},
        {"M", 1e6, 1},     {"G", 1e9, 1},     {"T", 1e12, 1},    {"P", 1e15, 1},
        {"E", 1e18, 1},    {"Ki", 0x1p10, 1}, {"Mi", 0x1p20, 1}, {"Gi", 0x1p30, 1},
        {"Ti", 0x1p40, 1}, {"Pi", 0x1p50, 1}, {"Ei", 0x1p60, 1},
};

static bool read_scaled(const char *text, size_t len, double *ret) {
        size_t digits = 0;

        while (digits < len && strchr("+-.0123456789", text[digits]) && text[digits] != '\0')
                digits++;
        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
                const char *suffix = suffixes[i].text;
                if (strlen(suffix) != len - digits ||
                    memcmp(suffix, text + digits, len - digits) != 0)
                        continue;
                double number;
                if (!number_parse_unbounded(text, digits, &number))
                        return false;
                *ret = number * suffixes[i].times / suffixes[i].over;
                return true;
        }
        return false;
}

bool quantity_parse(const char *text, size_t len, double *ret) {
        double value;

        if (!number_parse_unbounded(text, len, &value) && !read_scaled(text, len, &value))
                return false;
        *ret = fmin(fmax(value, -QUANTITY_MAX), QUANTITY_MAX);
        return true;
}

double quantity_at(const json_t *quantities, const char *resource) {
        const char *text = json_string_at(quantities, resource, NULL);
        double amount;

        return text && quantity_parse(text, strlen(text), &amount) && amount > 0 ? amount : 0;
}
