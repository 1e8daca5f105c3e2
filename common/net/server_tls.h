/*
 * Server-side TLS, for the HTTP server and for checks of configuration files. libmicrohttpd uses
 * GnuTLS, with one certificate for its lifetime; here every connection gets the credentials that
 * are current when it begins: certificate, key and client CA, immutable and reference-counted. So
 * they can be replaced while connections are open.
 *
 * libmicrohttpd neither requires nor verifies client certificates: that is done here, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

/* What a session is begun with: the versions, and certificates of 112 bits of security at least,
 * RSA of 2048 bits (NIST SP 800-57). */
#define SERVER_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%PROFILE_MEDIUM"

enum { TLS_REFUSAL_MAX = 160 };

struct http_server_tls;
struct server_tls;

/** server_tls_check() - -EINVAL unless @files name all that TLS needs, or none; reads no file */
_must_check_ int server_tls_check(const struct http_server_tls *files, struct error *err);
/**
 * server_tls_load() - read the files, and check that key and certificate match
 *
 * A certificate outside of its validity is loaded; see server_tls_succeeds().
 * Return: 0; negative errno with the file's name in @err
 */
_must_check_ int server_tls_load(const struct http_server_tls *files, struct server_tls **ret,
                                 struct error *err);
struct server_tls *server_tls_ref(struct server_tls *tls);
/** server_tls_unref() - on any thread; NULL is fine */
void server_tls_unref(struct server_tls *tls);
DEFINE_FREEP(struct server_tls, server_tls_unref);

/** server_tls_validity() - of the server's own certificate, not of its issuers' */
void server_tls_validity(const struct server_tls *tls, int64_t *ret_begins_unix_ms,
                         int64_t *ret_ends_unix_ms);
/** server_tls_has_same_trust() - whether both have the same client CA; they have one, or neither */
bool server_tls_has_same_trust(const struct server_tls *a, const struct server_tls *b);

/**
 * server_tls_succeeds() - whether @tls may replace @old
 *
 * Rejects another certificate that is expired or not valid yet.
 * Return: 0; -EKEYEXPIRED
 */
_must_check_ int server_tls_succeeds(const struct server_tls *tls, const struct server_tls *old,
                                     int64_t now_unix_ms, struct error *err);

/* The state of one connection's handshake. */
struct tls_handshake {
        const struct server_tls *tls;
        bool has_begun; /* the client's hello has been read */
        bool is_complete;
        bool is_verified;              /* the client's certificate is one that may connect */
        bool lacks_certificate;        /* the client was asked for one and sent none */
        char refusal[TLS_REFUSAL_MAX]; /* why the client's certificate was rejected; "": it was not
                                        */
};

/**
 * server_tls_attach() - use @tls for the handshake of @session
 * @handshake: zero; lives as long as the session
 *
 * With a client CA the handshake fails unless the client has a certificate issued by it for client
 * authentication, with one of the names if there are any. Call it before the handshake; the caller
 * holds a reference until @session has ended.
 */
void server_tls_attach(struct server_tls *tls, void *session, struct tls_handshake *handshake);
