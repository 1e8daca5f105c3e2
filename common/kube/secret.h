/*
 * Tokens and PEM texts, from files that may be rotated and from base64. The results are safe in a
 * header (a token contains no control character) and for the TLS library. Never log them.
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
 * secret_check() - validate, and trim a token in place
 * @text: NUL-terminated, of @len bytes
 * Return: 0; -EINVAL when it is empty, too long, contains a NUL or control character, or is not PEM
 */
_must_check_ int secret_check(enum secret_kind kind, char *text, size_t len, struct error *err);

/** secret_read_file() - read and validate a file; @ret is owned by the caller */
_must_check_ int secret_read_file(enum secret_kind kind, const char *path, char **ret,
                                  struct error *err);

/** secret_from_base64() - decode and validate a PEM text; white space is allowed */
_must_check_ int secret_from_base64(const char *text, size_t len, char **ret, struct error *err);

/** secret_free() - overwrite and release; @secret is NULL or NUL-terminated */
void secret_free(char *secret);
DEFINE_FREEP(char, secret_free);

/* A file that is read again after a minute, or a text that stays. All zero except its kind, and one
 * of path and text, at first. */
struct secret_file {
        enum secret_kind kind;
        char *path; /* owned; NULL: there is no file */
        char *text; /* owned; NULL: not read yet, or not configured */
        int64_t next_read_mono_ms;
        bool is_stale;   /* read again on the next call */
        bool is_failing; /* logged at its start and end */
};

void secret_file_done(struct secret_file *file);
static inline bool secret_file_is_set(const struct secret_file *file) {
        return file->path || file->text;
}

/**
 * secret_file_get() - the current text, read again when due
 * @ret: borrowed until the next call; NULL when neither path nor text is configured
 * Return: 0, also when reading again failed and the old text is kept; negative errno when it was
 * never read
 */
_must_check_ int secret_file_get(struct secret_file *file, int64_t now_mono_ms, const char **ret,
                                 struct error *err);
