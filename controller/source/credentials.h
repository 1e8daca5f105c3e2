/*
 * Credentials for a server that is scraped or queried: basic authentication or a token, TLS, and
 * additional headers. Files are read again after a minute. Only the user name may be logged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "codec/reader.h"
#include "kube/secret.h"
#include "net/http_client.h"

enum credentials_file {
        CREDENTIALS_CA,   /* default: the system's */
        CREDENTIALS_CERT, /* the client certificate */
        CREDENTIALS_KEY,
        CREDENTIALS_PASSWORD, /* for basic authentication */
        CREDENTIALS_TOKEN,    /* for Authorization */
        CREDENTIALS_FILE_COUNT,
};

enum { CREDENTIALS_MAX_HEADERS = 8, CREDENTIALS_HEADER_NAME_MAX = 64 };

/* Strings are borrowed. */
struct credentials_options {
        const char *files[CREDENTIALS_FILE_COUNT]; /* paths; NULL: none */
        const char *username;                      /* basic authentication; NULL: none */
        const char *token_type;                    /* NULL: Bearer */
        const char *server_name; /* in the server's certificate; NULL: the URL's host */
        bool is_insecure;        /* do not verify the certificate */
        struct {
                const char *name, *value;
        } headers[CREDENTIALS_MAX_HEADERS];
        size_t header_count;
};

/**
 * credentials_read() - read tls_config, basic_auth, authorization and http_headers, which have the
 * names and meanings of Prometheus' configuration
 * @map:         has these fields; its reader gets the errors
 * @opens_files: also check the files' content, for --check-config
 * @ret:         the document owns the strings
 */
void credentials_read(const struct reader_map *map, bool opens_files,
                      struct credentials_options *ret);

struct credentials {
        /* For a struct http_request, from the last refresh. */
        const char *basic_auth; /* "user:password", or NULL */
        struct http_tls tls;
        /* Private. */
        struct credentials_options options;
        struct secret_file files[CREDENTIALS_FILE_COUNT];
        struct buf basic_buf, token_buf;
        char *headers[CREDENTIALS_MAX_HEADERS];
};

/** credentials_init() - strings are borrowed
 * @uses_account: without other credentials, use the pod's service account */
void credentials_init(struct credentials *credentials, const struct credentials_options *options,
                      bool uses_account);
void credentials_done(struct credentials *credentials);

/**
 * credentials_refresh() - prepare the next request
 * Return: 0; negative errno if a file could never be read
 */
_must_check_ int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms,
                                     struct error *err);
/** credentials_put_headers() - append to the NULL-terminated @headers, with room for
 * CREDENTIALS_MAX_HEADERS + 1 more. The headers are borrowed until the next refresh */
void credentials_put_headers(const struct credentials *credentials, const char **headers);
