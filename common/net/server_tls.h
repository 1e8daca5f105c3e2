/*
 * Server-side TLS by GnuTLS, for the HTTP server and for configuration checks. A connection gets
 * the credentials that are current when it begins: certificate, key and client CA, immutable and
 * reference-counted. They can be replaced while connections are open. Client certificates are
 * requested and verified here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

/* Protocol versions, and certificates with at least 112 bits of security: RSA of 2048 bits (NIST SP
 * 800-57). */
#define SERVER_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%PROFILE_MEDIUM"

enum { TLS_REFUSAL_MAX = 160 };

struct http_server_tls;
struct server_tls;

/** server_tls_check() - -EINVAL if @files lacks some of the files that TLS needs; reads no file */
_must_check_ int server_tls_check(const struct http_server_tls *files, struct error *err);
/**
 * server_tls_load() - read the files, and check that key and certificate match
 * @files: server_tls_check() finds nothing wrong with them
 *
 * A certificate that is expired or not valid yet is loaded; see server_tls_succeeds().
 * Return: 0; negative errno with the name of the file in @err
 */
_must_check_ int server_tls_load(const struct http_server_tls *files, struct server_tls **ret,
                                 struct error *err);
struct server_tls *server_tls_ref(struct server_tls *tls);
/** server_tls_unref() - any thread; @tls can be NULL */
void server_tls_unref(struct server_tls *tls);
DEFINE_FREEP(struct server_tls, server_tls_unref);

/** server_tls_validity() - of the server's own certificate, not of its issuers */
void server_tls_validity(const struct server_tls *tls, int64_t *ret_begins_unix_ms,
                         int64_t *ret_ends_unix_ms);
/** server_tls_has_same_trust() - whether the client CAs are equal; both have one, or neither */
bool server_tls_has_same_trust(const struct server_tls *a, const struct server_tls *b);

/**
 * server_tls_succeeds() - whether @tls can replace @old
 *
 * Rejects a new certificate that is expired or not valid yet.
 * Return: 0; -EKEYEXPIRED
 */
_must_check_ int server_tls_succeeds(const struct server_tls *tls, const struct server_tls *old,
                                     int64_t now_unix_ms, struct error *err);

/* The handshake of one connection. */
struct tls_handshake {
        const struct server_tls *tls;
        bool has_begun; /* the ClientHello was read */
        bool is_complete;
        bool is_verified;              /* the client's certificate is accepted */
        bool lacks_certificate;        /* the client was asked for a certificate and sent none */
        char refusal[TLS_REFUSAL_MAX]; /* why the client's certificate was rejected; "": it is not
                                        */
};

/**
 * server_tls_attach() - use @tls for the handshake of @session
 * @handshake: zero; lives as long as the session
 *
 * With a client CA, the handshake fails unless the client has a certificate from it for client
 * authentication, with an allowed name. Call it before the handshake. The caller keeps its
 * reference until @session ends.
 */
void server_tls_attach(struct server_tls *tls, void *session, struct tls_handshake *handshake);
