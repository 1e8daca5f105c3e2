/*
 * Errors with a message: functions return 0 or a negative errno, and those that read
 * outside input also fill a caller-owned struct error. Nothing in it is allocated, so nothing
 * has to be released. Each caller on the way up may put its context in front:
 * "policy /etc/plimsoll/policy.yaml: line 12: spec.priority[2].weight: expected a number".
 */
#pragma once

#include <assert.h>

#include "base/attributes.h"

enum { ERROR_MSG_MAX = 1024 };

struct error {
        int code;                /* negative errno; 0 when nothing has failed */
        char msg[ERROR_MSG_MAX]; /* UTF-8 without control characters; cut when longer */
};

#define ERROR_NULL ((struct error){0})

/**
 * error_set() - describe a failure
 * @err:  may be NULL, when the caller needs only the code
 * @code: errno, either sign; not 0
 * Return: the code as a negative errno, for `return error_set(err, EINVAL, ...)`
 */
#define error_set(err, code, ...) error_is_negative(error_set_text((err), (code), __VA_ARGS__))
int error_set_text(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/**
 * error_wrap() - put "context: " in front of @err's message
 * @err:  may be NULL, when the caller needs only the code
 * @code: errno, either sign; not 0: what the callee returned
 * Return: the code as a negative errno
 */
#define error_wrap(err, code, ...) error_is_negative(error_wrap_text((err), (code), __VA_ARGS__))
int error_wrap_text(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Shows compilers and analysers that outputs are set where no error was returned. */
static inline int error_is_negative(int code) {
        assert(code < 0);
        return code;
}
