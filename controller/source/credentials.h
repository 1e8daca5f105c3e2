/*
 * Credentials for a peer that is scraped or queried: basic authentication or a bearer token, and
 * TLS. Files are read again when they are a minute old. Nothing of this may be logged but the
 * user's name.
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
        const char *ca_file;                  /* NULL: the system's */
        const char *cert_file, *key_file;     /* ours; NULL: none */
        const char *server_name;              /* in the peer's certificate; NULL: the URL's host */
        bool is_insecure;                     /* do not verify the certificate */
};

/**
 * credentials_options_check() - do they fit together?
 * @prefix:      what stands before the names in messages: "--node-exporter-"
 * @opens_files: can all files be read, too, and hold what they should? For --check-config
 * Return: 0; -EINVAL; with @opens_files what open(2) or read(2) failed with
 */
_must_check_ int credentials_options_check(const struct credentials_options *options,
                                           const char *prefix, bool opens_files, struct error *err);

struct credentials {
        struct credentials_options options;
        struct secret_file password, bearer, ca, cert, key;
        struct http_tls tls;
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
/** credentials_tls() - for http_request.tls; as of the last refresh */
const struct http_tls *credentials_tls(const struct credentials *credentials);
