/*
 * Errors with a message. Functions return 0 or a negative errno; functions that read outside input
 * also fill a struct error of the caller. It allocates nothing, so there is nothing to release.
 * Each caller can prepend its context: "policy /etc/plimsoll/policy.yaml: line 12:
 * spec.priority[2].weight: expected a number".
 */
#pragma once

#include <assert.h>

#include "base/attributes.h"

enum { ERROR_MSG_MAX = 1024 };

struct error {
        int code;                /* negative errno; 0: no error */
        char msg[ERROR_MSG_MAX]; /* UTF-8 without control characters, cut if longer */
};

#define ERROR_NULL ((struct error){0})

/**
 * error_set() - describe a failure
 * @err:  NULL if the caller needs only the code
 * @code: an errno, positive or negative
 * Return: the code as a negative errno, for `return error_set(err, EINVAL, ...)`
 */
#define error_set(err, code, ...) error_is_negative(error_set_text((err), (code), __VA_ARGS__))
int error_set_text(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/**
 * error_wrap() - prepend "context: " to the message of @err
 * @err:  NULL if the caller needs only the code
 * @code: an errno, positive or negative: what the callee returned
 * Return: the code as a negative errno
 */
#define error_wrap(err, code, ...) error_is_negative(error_wrap_text((err), (code), __VA_ARGS__))
int error_wrap_text(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Tells compilers and analysers that the caller returns here, so that outputs may stay unset. */
static inline int error_is_negative(int code) {
        assert(code < 0);
        return code;
}
