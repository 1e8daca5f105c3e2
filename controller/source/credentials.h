/*
 * Credentials for a peer that is scraped or queried: basic authentication or a token, TLS, and
 * further headers. Files are read again when they are a minute old. Nothing of this may be logged
 * but the user's name.
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

/* Where a pod has its own. */
#define CREDENTIALS_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum credentials_file {
        CREDENTIALS_CA,   /* none: the system's */
        CREDENTIALS_CERT, /* of the client */
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
        const char *server_name; /* in the peer's certificate; NULL: the URL's host */
        bool is_insecure;        /* do not verify the certificate */
        struct {
                const char *name, *value;
        } headers[CREDENTIALS_MAX_HEADERS];
        size_t header_count;
};

/**
 * credentials_read() - from an entry of the file: tls_config, basic_auth, authorization and
 * http_headers, named and meant as in Prometheus' configuration
 * @map:         has these among its fields; its reader gets the errors
 * @opens_files: can the files be read, too, and hold what they should? For --check-config
 * @ret:         strings are the document's
 */
void credentials_read(const struct reader_map *map, bool opens_files,
                      struct credentials_options *ret);

struct credentials {
        /* For a struct http_request, as of the last refresh. */
        const char *basic_auth; /* "user:password", or NULL */
        struct http_tls tls;
        /* Private. */
        struct credentials_options options;
        struct secret_file files[CREDENTIALS_FILE_COUNT];
        struct buf basic_buf, token_buf;
        char *headers[CREDENTIALS_MAX_HEADERS];
};

void credentials_init(struct credentials *credentials, const struct credentials_options *options);
void credentials_done(struct credentials *credentials);

/**
 * credentials_refresh() - for the next request
 * Return: 0; negative errno when a file could never be read
 */
_must_check_ int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms,
                                     struct error *err);
/** credentials_put_headers() - append to the NULL-terminated @headers, which have room for
 * CREDENTIALS_MAX_HEADERS + 1 more; borrowed until the next refresh */
void credentials_put_headers(const struct credentials *credentials, const char **headers);
