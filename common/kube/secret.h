/*
 * Tokens and PEM texts, from base64, or from files that may be rotated. They are safe in headers (a
 * token has no control character) and for the TLS library. Never log them.
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
        SECRET_REREAD_MS = 60000, /* as client-go */
        SECRET_RETRY_MS = 10000,  /* after a failure */
};

enum secret_kind { SECRET_TOKEN, SECRET_PEM };

/**
 * secret_check() - validate a secret; trims a token in place
 * @text: @len bytes, NUL-terminated
 * Return: 0; -EINVAL if it is empty, too long, not PEM, or contains a NUL or control character
 */
_must_check_ int secret_check(enum secret_kind kind, char *text, size_t len, struct error *err);

/** secret_read_file() - read and validate a file; @ret is owned by the caller */
_must_check_ int secret_read_file(enum secret_kind kind, const char *path, char **ret,
                                  struct error *err);

/** secret_from_base64() - decode and validate a PEM text; white space is ignored */
_must_check_ int secret_from_base64(const char *text, size_t len, char **ret, struct error *err);

/** secret_free() - overwrite and free; @secret is NULL or NUL-terminated */
void secret_free(char *secret);
DEFINE_FREEP(char, secret_free);

/* A file that is read again every minute, or a constant text. Initially zero, except the kind, and
 * the path or the text. */
struct secret_file {
        enum secret_kind kind;
        char *path; /* owned; NULL: no file */
        char *text; /* owned; NULL: not read yet, or not set */
        int64_t next_read_mono_ms;
        bool is_stale;   /* read again on the next call */
        bool is_failing; /* its start and end are logged */
};

void secret_file_done(struct secret_file *file);
static inline bool secret_file_is_set(const struct secret_file *file) {
        return file->path || file->text;
}

/**
 * secret_file_get() - the current text, read again if due
 * @ret: borrowed until the next call; NULL if neither path nor text is set
 * Return: 0, even with an old text because the file cannot be read again; negative errno without
 * one
 */
_must_check_ int secret_file_get(struct secret_file *file, int64_t now_mono_ms, const char **ret,
                                 struct error *err);
