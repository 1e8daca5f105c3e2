/*
 * One line per event on stderr, logfmt or JSON, with typed keys:
 *
 *     log_warn(MSG("patch failed"), STR("node", name), INT("status", 409));
 *     ts=2026-07-23T11:25:54.120Z level=warn msg="patch failed" node=node-a status=409
 *
 * Messages are constant. Variable data goes into keys, where it is escaped: no peer can forge a
 * line. Callers never pass secrets. Thread-safe: each line is one write(2). A value that is too
 * long is cut, and a field that does not fit is omitted; then the line ends with cut=true.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

enum log_field_type { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_F64, LOG_FIELD_BOOL };

struct log_field {
        const char *key;
        enum log_field_type type;
        const char *str; /* borrowed; NULL prints as "" */
        int64_t num;
        double f64;
};

#define MSG(text) ((struct log_field){"msg", LOG_FIELD_STR, "" text, 0, 0})
#define STR(key, value) ((struct log_field){(key), LOG_FIELD_STR, (value), 0, 0})
#define INT(key, value) ((struct log_field){(key), LOG_FIELD_INT, NULL, (int64_t)(value), 0})
#define F64(key, value) ((struct log_field){(key), LOG_FIELD_F64, NULL, 0, (value)})
#define BOOL(key, value) ((struct log_field){(key), LOG_FIELD_BOOL, NULL, (value), 0})
#define ERR(err) ((struct log_field){"error", LOG_FIELD_STR, (err)->msg, 0, 0})

#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)

#define log_at(level, ...)                                                                         \
        log_fields((level), (const struct log_field[]){__VA_ARGS__},                               \
                   ARRAY_LEN(((const struct log_field[]){__VA_ARGS__})))

/** log_set() - set level and format for the process, before any thread starts */
void log_set(enum log_level minimum, enum log_format format);

/** log_fields() - for the macros above; the first field is MSG() */
void log_fields(enum log_level level, const struct log_field *fields, size_t count);
