/*
 * How a peer that is scraped or asked knows us: basic authentication or a bearer token, from files
 * that are read again when they are a minute old. Never log what is in here but the user's name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "kube/secret.h"
#include "net/http_client.h"

/* Strings are borrowed. */
struct credentials_options {
        const char *username, *password_file; /* basic authentication; NULL: none */
        const char *bearer_token_file;        /* NULL: none */
};

/**
 * credentials_options_check() - do they fit together, and the certificate with its key?
 * @prefix:      what stands before the names in messages: "--node-exporter-"
 * @opens_files: can all files be read, too, and hold what they should? For --check-config
 * Return: 0; -EINVAL; with @opens_files what open(2) or read(2) failed with
 */
_must_check_ int credentials_options_check(const struct credentials_options *options,
                                           const struct http_tls *tls, const char *prefix,
                                           bool opens_files, struct error *err);

struct credentials {
        const char *username;
        struct secret_file password, bearer;
        struct buf basic, bearer_header;
};

void credentials_init(struct credentials *credentials, const struct credentials_options *options);
void credentials_done(struct credentials *credentials);

/**
 * credentials_refresh() - for the next request
 * Return: 0; negative errno when a file could never be read
 */
_must_check_ int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms,
                                     struct error *err);
/** credentials_basic() - "user:password" for http_request.basic_auth, or NULL; as of the last
 * refresh */
const char *credentials_basic(const struct credentials *credentials);
/** credentials_header() - "Authorization: Bearer ...", or NULL; as of the last refresh */
const char *credentials_header(const struct credentials *credentials);
