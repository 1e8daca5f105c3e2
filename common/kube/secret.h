/*
 * Tokens and PEM texts: from files that others rotate under us, and from base64. What comes out is
 * safe to put into a header (a token holds no control character) or to hand to the TLS library.
 * Never log what these return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

enum {
        SECRET_TOKEN_MAX_BYTES = 64 << 10,
        SECRET_PEM_MAX_BYTES = 1 << 20,
        SECRET_REREAD_MS = 60000, /* client-go's period */
        SECRET_RETRY_MS = 10000,  /* after a failed reading */
};

enum secret_kind { SECRET_TOKEN, SECRET_PEM };

/**
 * secret_check() - trim a token in place, refuse what is none
 * @text: NUL-terminated, of @len bytes
 * Return: 0; -EINVAL when it is empty, too long, holds a NUL or control character, or is no PEM
 */
_must_check_ int secret_check(enum secret_kind kind, char *text, size_t len, struct error *err);

/** secret_read_file() - a checked secret from a regular file; @ret is owned by the caller */
_must_check_ int secret_read_file(enum secret_kind kind, const char *path, char **ret,
                                  struct error *err);

/** secret_from_base64() - a checked PEM text; line breaks between the digits are allowed */
_must_check_ int secret_from_base64(const char *text, size_t len, char **ret, struct error *err);
/** secret_to_base64() - the way back, on one line; owned by the caller */
char *secret_to_base64(const char *text, size_t len);

/**
 * secret_mask() - overwrite in @text what is, or looks like, a secret
 * @known: NULL, or a secret that may stand there
 *
 * Masked is every word of a token's characters that is long and has a digit, or very long: rather a
 * path or a host's name too many than a token in a log.
 */
void secret_mask(char *text, const char *known);

/** secret_free() - overwrite and release; @secret is NULL or NUL-terminated */
void secret_free(char *secret);
DEFINE_FREEP(char, secret_free);

/* A file that is read again when its last reading is a minute old. Zero but for kind and path. */
struct secret_file {
        enum secret_kind kind;
        char *path; /* owned; NULL: there is no such file */
        char *text;
        int64_t next_read_mono_ms;
        bool is_stale;   /* read at the next asking, whatever the time */
        bool is_failing; /* logged at its start and end */
};

void secret_file_done(struct secret_file *file);

/**
 * secret_file_get() - the present text, read again when it is due
 * @ret: borrowed until the next call; NULL when the file has no path
 * Return: 0, also when a new reading failed and the old text is kept; negative errno when there
 * never was one
 */
_must_check_ int secret_file_get(struct secret_file *file, int64_t now_mono_ms, const char **ret,
                                 struct error *err);
