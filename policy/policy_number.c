#include "policy/policy_number.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { DIGITS_MAX = 17 }; /* tell any two doubles apart */
#define EXPONENT_MIN 1e17 /* from here on not even that many digits do without an exponent */

/* @shown is @value times @scale. */
static void format(double shown, double scale, double value, char text[static POLICY_NUMBER_MAX]) {
        for (int digits = 1; digits <= DIGITS_MAX; digits++) {
                double again = 0;
                (void)snprintf(text, POLICY_NUMBER_MAX, "%.*g", digits, shown);
                bool is_exact = number_parse(text, strlen(text), &again) && again / scale == value;
                /* 100 is "100", although one digit would do for "1e+02". */
                bool is_plain = shown < 1 || shown >= EXPONENT_MIN || !strchr(text, 'e');
                if (is_exact && is_plain)
                        return;
        }
}

void policy_number_format(double value, char text[static POLICY_NUMBER_MAX]) {
        format(value, 1, value, text);
}

void policy_number_format_percent(double ratio, char text[static POLICY_NUMBER_MAX]) {
        format(ratio * 100, 100, ratio, text);
}
