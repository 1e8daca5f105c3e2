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

enum credentials_file {
        CREDENTIALS_CA,   /* none: the system's */
        CREDENTIALS_CERT, /* of the client */
        CREDENTIALS_KEY,
        CREDENTIALS_PASSWORD, /* for basic authentication */
        CREDENTIALS_TOKEN,    /* for Authorization: Bearer */
        CREDENTIALS_FILE_COUNT,
};

/* Strings are borrowed. */
struct credentials_options {
        const char *files[CREDENTIALS_FILE_COUNT]; /* paths; NULL: none */
        const char *username;                      /* basic authentication; NULL: none */
        const char *server_name; /* in the peer's certificate; NULL: the URL's host */
        bool is_insecure;        /* do not verify the certificate */
};

/*
 * Rows of an option table for one peer, which put their values into the struct credentials_options
 * @c
 * @prefix: of their names, a literal: "node-exporter-"
 * @peer:   in their help: "the exporters"
 */
/* clang-format off */
#define CREDENTIALS_ROWS(prefix, c, peer)                                                          \
        {.name = prefix "ca-file", .type = OPTION_STRING, .value = &(c).files[CREDENTIALS_CA],     \
         .metavar = "FILE",                                                                        \
         .help = "Certificate authorities of " peer ". Default: the system's."},                   \
        {.name = prefix "insecure-skip-verify", .type = OPTION_BOOL, .value = &(c).is_insecure,    \
         .help = "Do not verify the certificates of " peer "."},                                   \
        {.name = prefix "server-name", .type = OPTION_STRING, .value = &(c).server_name,           \
         .metavar = "NAME",                                                                        \
         .help = "Name in the certificates of " peer ". Default: the host of the URL."},           \
        {.name = prefix "cert-file", .type = OPTION_STRING, .value = &(c).files[CREDENTIALS_CERT], \
         .metavar = "FILE", .help = "Client certificate, with --" prefix "key-file."},             \
        {.name = prefix "key-file", .type = OPTION_STRING, .value = &(c).files[CREDENTIALS_KEY],   \
         .metavar = "FILE", .help = "Key of the client certificate."},                             \
        {.name = prefix "username", .type = OPTION_STRING, .value = &(c).username,                 \
         .metavar = "NAME",                                                                        \
         .help = "User for basic authentication, with --" prefix "password-file."},                \
        {.name = prefix "password-file", .type = OPTION_STRING,                                    \
         .value = &(c).files[CREDENTIALS_PASSWORD], .metavar = "FILE",                             \
         .help = "File with the password; read again every minute."},                              \
        {.name = prefix "bearer-token-file", .type = OPTION_STRING,                                \
         .value = &(c).files[CREDENTIALS_TOKEN], .metavar = "FILE",                                \
         .help = "File with a token for Authorization: Bearer; read again every minute."}
/* clang-format on */

/**
 * credentials_options_check() - do they fit together?
 * @prefix:      what stands before the names in messages: "--node-exporter-"
 * @opens_files: can all files be read, too, and hold what they should? For --check-config
 * Return: 0; -EINVAL; with @opens_files what open(2) or read(2) failed with
 */
_must_check_ int credentials_options_check(const struct credentials_options *options,
                                           const char *prefix, bool opens_files, struct error *err);
/** credentials_file_check() - can the file be read, and does it hold what it should? @path may be
 * NULL: 0 */
_must_check_ int credentials_file_check(enum credentials_file file, const char *path,
                                        struct error *err);

struct credentials {
        /* For a struct http_request, as of the last refresh. */
        const char *basic_auth; /* "user:password", or NULL */
        const char *header;     /* "Authorization: Bearer ...", or NULL */
        struct http_tls tls;
        /* Private. */
        struct credentials_options options;
        struct secret_file files[CREDENTIALS_FILE_COUNT];
        struct buf basic_buf, header_buf;
};

void credentials_init(struct credentials *credentials, const struct credentials_options *options);
void credentials_done(struct credentials *credentials);

/**
 * credentials_refresh() - for the next request
 * Return: 0; negative errno when a file could never be read
 */
_must_check_ int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms,
                                     struct error *err);
