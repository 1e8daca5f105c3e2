#include "base/timestamp.h"

#include <stdio.h>

#include "base/clock.h"

/*
 * Days from civil date and back, proleptic Gregorian. Years are counted from March, so that the
 * leap day is a year's last; an era is 400 years = 146,097 days.
 */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
        int64_t y = month <= 2 ? year - 1 : year;
        int64_t era = (y >= 0 ? y : y - 399) / 400;
        int64_t year_of_era = y - era * 400;
        int64_t month_from_march = (month + 9) % 12;
        int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

        return era * 146097 + day_of_era - 719468;
}

struct civil {
        int64_t year, month, day;
};

static struct civil civil_from_days(int64_t days) {
        int64_t z = days + 719468;
        int64_t era = (z >= 0 ? z : z - 146096) / 146097;
        int64_t day_of_era = z - era * 146097;
        int64_t year_of_era =
                (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
        int64_t day_of_year = day_of_era -
                              (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        int64_t month_from_march = (5 * day_of_year + 2) / 153;
        int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;

        return (struct civil){
                .year = year_of_era + era * 400 + (month <= 2),
                .month = month,
                .day = day_of_year - (153 * month_from_march + 2) / 5 + 1,
        };
}

static void format(int64_t at_unix_ms, const char *fraction, char *text, size_t text_bytes) {
        int64_t days = at_unix_ms / MS_PER_DAY;
        int64_t in_day_ms = at_unix_ms % MS_PER_DAY;
        if (in_day_ms < 0) {
                in_day_ms += MS_PER_DAY;
                days--;
        }
        struct civil date = civil_from_days(days);

        (void)snprintf(text, text_bytes, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld%sZ",
                       (long long)date.year, (long long)date.month, (long long)date.day,
                       (long long)(in_day_ms / MS_PER_HOUR),
                       (long long)(in_day_ms / MS_PER_MIN % 60),
                       (long long)(in_day_ms / MS_PER_S % 60), fraction);
}

static int64_t millisecond_of(int64_t at_unix_ms) {
        int64_t ms = at_unix_ms % MS_PER_S;

        return ms < 0 ? ms + MS_PER_S : ms;
}

void timestamp_format_s(int64_t at_unix_ms, char *text, size_t text_bytes) {
        format(at_unix_ms, "", text, text_bytes);
}

void timestamp_format_ms(int64_t at_unix_ms, char *text, size_t text_bytes) {
        char fraction[24];

        (void)snprintf(fraction, sizeof(fraction), ".%03lld",
                       (long long)millisecond_of(at_unix_ms));
        format(at_unix_ms, fraction, text, text_bytes);
}

void timestamp_format_us(int64_t at_unix_ms, char *text, size_t text_bytes) {
        char fraction[24];

        (void)snprintf(fraction, sizeof(fraction), ".%03lld000",
                       (long long)millisecond_of(at_unix_ms));
        format(at_unix_ms, fraction, text, text_bytes);
}

/* Reads @count digits at @at; false when one of them is none. */
static bool read_digits(const char *text, size_t at, size_t count, int64_t *ret_value) {
        int64_t value = 0;

        for (size_t i = at; i < at + count; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = value * 10 + (text[i] - '0');
        }
        *ret_value = value;
        return true;
}

static int64_t days_in_month(int64_t year, int64_t month) {
        static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        return month == 2 && is_leap ? 29 : days[month - 1];
}

/* ".fraction" of at least one digit up to the final Z; milliseconds out. */
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
        int64_t year, month, day, hour, minute, second, ms = 0;

        if (len < SECONDS_LEN + 1 || text[len - 1] != 'Z')
                return false;
        if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
            text[16] != ':')
                return false;
        if (!read_digits(text, 0, 4, &year) || !read_digits(text, 5, 2, &month) ||
            !read_digits(text, 8, 2, &day) || !read_digits(text, 11, 2, &hour) ||
            !read_digits(text, 14, 2, &minute) || !read_digits(text, 17, 2, &second))
                return false;
        if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
            minute > 59 || second > 59)
                return false;
        if (len > SECONDS_LEN + 1 && !read_fraction(text + SECONDS_LEN, len - 1 - SECONDS_LEN, &ms))
                return false;
        *ret_unix_ms = days_from_civil(year, month, day) * MS_PER_DAY + hour * MS_PER_HOUR +
                       minute * MS_PER_MIN + second * MS_PER_S + ms;
        return true;
}
