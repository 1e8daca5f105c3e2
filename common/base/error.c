#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/*
 * Messages quote outside input: a control character must not reach a terminal or a log, and JSON,
 * such as a policy's status, takes no text that is not UTF-8, or was cut within a character.
 */
static void replace_unprintable(char *text) {
        for (size_t left = strlen(text); left > 0;) {
                const unsigned char *s = (const unsigned char *)text;
                size_t sequence = utf8_sequence_len(text, left);
                /* To some terminals, U+009B is the beginning of a command, as ESC [ is. */
                bool is_c1 = sequence == 2 && s[0] == 0xc2 && s[1] < 0xa0;
                if (sequence == 0 || s[0] < 0x20 || s[0] == 0x7f || is_c1)
                        memset(text, '?', sequence == 2 ? 2 : 1);
                sequence += sequence == 0;
                text += sequence;
                left -= sequence;
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
