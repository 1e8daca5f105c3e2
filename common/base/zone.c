#include "base/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo/"

enum { ZONE_NAME_MAX = 64, ZONE_MAX_BYTES = 64 << 10 };

/* glibc holds the zone. */
static const struct zone { bool is_local; } process_zone = {true};

/* IANA names are words of letters, digits and "_+-", separated by single slashes. */
static bool is_zone_name(const char *name) {
        size_t len = strlen(name);

        if (len == 0 || len >= ZONE_NAME_MAX || name[len - 1] == '/')
                return false;
        for (size_t i = 0; i < len; i++) {
                bool word_start = i == 0 || name[i - 1] == '/';
                if (word_start ? !isalpha((unsigned char)name[i])
                               : !isalnum((unsigned char)name[i]) && !strchr("_+-/", name[i]))
                        return false;
        }
        return true;
}

/* All compiled zones begin like this (RFC 8536). The database also has directories and tables. */
static bool is_zone_file(const char *path) {
        static const char magic[] = "TZif";
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        return file_read(path, ZONE_MAX_BYTES, &text, &len, NULL) == 0 &&
               strncmp(text, magic, sizeof(magic) - 1) == 0;
}

int zone_load(const char *name, const struct zone **ret_zone, struct error *err) {
        char path[sizeof(ZONE_DIRECTORY) + ZONE_NAME_MAX];

        if (strcmp(name, "UTC") == 0) {
                *ret_zone = NULL;
                return 0;
        }
        if (!is_zone_name(name))
                return error_set(err, EINVAL,
                                 "'%s' is not a time zone's name (example: Asia/Shanghai)", name);
        (void)snprintf(path, sizeof(path), "%s%s", ZONE_DIRECTORY, name);
        /* glibc silently uses UTC instead of a zone that it cannot read. */
        if (!is_zone_file(path))
                return error_set(err, ENOENT,
                                 "time zone %s: no zone in %s (is the tz database installed?)",
                                 name, path);
        if (setenv("TZ", name, 1) < 0)
                mem_exhausted();
        tzset();
        *ret_zone = &process_zone;
        return 0;
}

static int64_t offset_ms(int64_t at_unix_ms) {
        time_t at_s = (time_t)(at_unix_ms / MS_PER_S);
        struct tm local;

        (void)localtime_r(&at_s,
                          &local); /* no time in milliseconds is beyond the years of an int */
        return (int64_t)local.tm_gmtoff * MS_PER_S;
}

int64_t zone_local_from_utc(const struct zone *zone, int64_t at_unix_ms) {
        return zone ? at_unix_ms + offset_ms(at_unix_ms) : at_unix_ms;
}

int64_t zone_utc_from_local(const struct zone *zone, int64_t local_ms) {
        if (!zone)
                return local_ms;
        /* The first guess is right, except within hours of a change of the offset. */
        int64_t guess_ms = local_ms - offset_ms(local_ms);
        return local_ms - offset_ms(guess_ms);
}
