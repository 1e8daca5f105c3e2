#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/*
 * Messages quote outside input. Control characters, and characters that reverse the text after
 * them, must not reach a terminal or a log. JSON, such as the status of a policy, must be UTF-8
 * without cut characters.
 */
static void replace_unprintable(char *text) {
        for (size_t left = strlen(text), len; left > 0; text += len, left -= len) {
                size_t sequence = utf8_sequence_len(text, left);
                len = sequence > 0 ? sequence : 1;
                if (sequence == 0 || !utf8_is_graphic(text, sequence))
                        memset(text, '?', len);
        }
}

_printf_(4, 0) static int set(struct error *err, int code, const char *cause, const char *fmt,
                              va_list args) {
        int negative = code > 0 ? -code : code;

        assert(code != 0);
        if (!err)
                return negative;
        int len = vsnprintf(err->msg, sizeof(err->msg), fmt, args);
        if (cause && (size_t)len < sizeof(err->msg))
                (void)snprintf(err->msg + len, sizeof(err->msg) - (size_t)len, ": %s", cause);
        replace_unprintable(err->msg);
        err->code = negative;
        return negative;
}

int error_set_text(struct error *err, int code, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        int r = set(err, code, NULL, fmt, args);
        va_end(args);
        return r;
}

int error_wrap_text(struct error *err, int code, const char *fmt, ...) {
        char cause[ERROR_MSG_MAX] = "";
        va_list args;

        if (err)
                memcpy(cause, err->msg, sizeof(cause));
        va_start(args, fmt);
        int r = set(err, code, cause, fmt, args);
        va_end(args);
        return r;
}
