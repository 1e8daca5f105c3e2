#include "base/timestamp.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"

/* @decimals: 0, 3 or 6 */
static void format(int64_t at_unix_ms, size_t decimals, char *text, size_t text_bytes) {
        int64_t ms = at_unix_ms % MS_PER_S;
        time_t at_s = at_unix_ms / MS_PER_S - (ms < 0);
        char fraction[] = ".000000";
        struct tm utc;

        for (size_t i = 3, rest = (size_t)(ms < 0 ? ms + MS_PER_S : ms); i > 0; i--, rest /= 10)
                fraction[i] = (char)('0' + rest % 10);
        fraction[decimals > 0 ? decimals + 1 : 0] = '\0';
        (void)gmtime_r(&at_s, &utc); /* fails only for years beyond int */
        (void)snprintf(text, text_bytes, "%04lld-%02d-%02dT%02d:%02d:%02d%sZ", utc.tm_year + 1900LL,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, fraction);
}

void timestamp_format_s(int64_t at_unix_ms, char *text, size_t text_bytes) {
        format(at_unix_ms, 0, text, text_bytes);
}

void timestamp_format_ms(int64_t at_unix_ms, char *text, size_t text_bytes) {
        format(at_unix_ms, 3, text, text_bytes);
}

void timestamp_format_us(int64_t at_unix_ms, char *text, size_t text_bytes) {
        format(at_unix_ms, 6, text, text_bytes);
}

/* Reads @count decimal digits at @at. */
static bool read_digits(const char *text, size_t at, size_t count, int *ret_value) {
        int value = 0;

        for (size_t i = at; i < at + count; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = value * 10 + (text[i] - '0');
        }
        *ret_value = value;
        return true;
}

/* ".fraction", with at least one digit, before the final Z. */
static bool read_fraction(const char *text, size_t len, int64_t *ret_ms) {
        int64_t ms = 0, scale = 100;

        if (len < 2 || text[0] != '.')
                return false;
        for (size_t i = 1; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                ms += (text[i] - '0') * scale;
                scale /= 10;
        }
        *ret_ms = ms;
        return true;
}

bool timestamp_parse(const char *text, size_t len, int64_t *ret_unix_ms) {
        enum { SECONDS_LEN = sizeof("2026-07-23T11:25:54") - 1 };
        struct tm utc = {0}, normalized;
        int64_t ms = 0;

        if (len < SECONDS_LEN + 1 || text[len - 1] != 'Z')
                return false;
        if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
            text[16] != ':')
                return false;
        if (!read_digits(text, 0, 4, &utc.tm_year) || !read_digits(text, 5, 2, &utc.tm_mon) ||
            !read_digits(text, 8, 2, &utc.tm_mday) || !read_digits(text, 11, 2, &utc.tm_hour) ||
            !read_digits(text, 14, 2, &utc.tm_min) || !read_digits(text, 17, 2, &utc.tm_sec))
                return false;
        if (len > SECONDS_LEN + 1 && !read_fraction(text + SECONDS_LEN, len - 1 - SECONDS_LEN, &ms))
                return false;
        utc.tm_year -= 1900;
        utc.tm_mon -= 1;
        normalized = utc;
        time_t at_s = timegm(&normalized);
        /* timegm() changes a time that does not exist: second 60 becomes the next minute. */
        if (normalized.tm_mon != utc.tm_mon || normalized.tm_mday != utc.tm_mday ||
            normalized.tm_hour != utc.tm_hour || normalized.tm_min != utc.tm_min)
                return false;
        *ret_unix_ms = (int64_t)at_s * MS_PER_S + ms;
        return true;
}
