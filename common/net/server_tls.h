/*
 * The server's side of TLS, private to http_server.c. libmicrohttpd speaks TLS through GnuTLS; it
 * asks for a client's certificate when it is given a CA, but neither insists on nor verifies one:
 * that is done here.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"

/* PEM texts, owned. */
struct server_tls {
        char *cert, *key;
        char *client_ca; /* NULL: clients need no certificate */
};

/**
 * server_tls_load() - read the files and try them out
 * @client_ca_file: may be NULL
 * Return: 0; negative errno with the file's name in @err
 */
_must_check_ int server_tls_load(const char *cert_file, const char *key_file,
                                 const char *client_ca_file, struct server_tls *ret,
                                 struct error *err);
void server_tls_done(struct server_tls *tls);

/** server_tls_insist() - make the handshake of @session fail without a certificate of the CA */
void server_tls_insist(void *session);
/** server_tls_is_verified() - the handshake of @session did verify the client's certificate */
bool server_tls_is_verified(void *session);
