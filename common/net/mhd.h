/*
 * The quirks of libmicrohttpd, and what we do about them. Private to the HTTP server.
 *
 * All rows were checked with CHECKED_MHD_VERSION. A unit test fails on a Debian that has another
 * version: then check every row again, drop those that are no longer true, and change the version.
 *
 *   what libmicrohttpd does                        what we do
 *
 *   restarts its timeout with every byte           connection_watch.h keeps deadlines
 *   accepts one connection per worker and round,   connection_watch.h accepts connections, and
 *   and none at its connection limit               closes others at our limit, which is lower
 *   shares connections among the workers of its    each worker is a daemon of its own, and
 *   pool, whatever these are doing                 http_server.c chooses the least busy one
 *   with epoll and 200 connections, sometimes      http_worker_start() uses poll, which costs no
 *   lets a worker sleep although requests have     more with as few connections as we allow
 *   arrived
 *   has one certificate for its lifetime, and      http_worker_start() gives it a source that is
 *   needs a source of certificates                 never called: server_tls_attach() sets the
 *                                                  credentials of each connection
 *   offers http/1.0 in TLS                         mhd_offer_http_1_1()
 *   neither requests nor verifies clients'         server_tls.h does both
 *   certificates
 *   takes a reply only after the request's body    http_connection.c reads and drops a body that
 *                                                  it refuses
 *   aborts (a double free) if a reply has more     mhd_response() copies such replies
 *   pieces than fit a connection's memory, about
 *   2,000
 *   takes the first of two Content-Length          mhd_is_well_framed() refuses such requests: a
 *   headers; ignores one with a blank before its   proxy may see another end of them (RFC 9112,
 *   colon; adds a folded line to the header's      5.1, 6.1, 6.3)
 *   name
 *   ends the headers at the line ": a"             nothing: the next header line is then a request
 *                                                  line, which is malformed or has no known method
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "net/http_server.h"

#define CHECKED_MHD_VERSION "0.9.75"

/** mhd_offer_http_1_1() - the only protocol of ALPN; a client that offers only others is
 * rejected (RFC 7301, 3.2). Before the handshake of @session */
void mhd_offer_http_1_1(void *session);

/** mhd_is_well_framed() - whether the headers of a request leave no doubt where it ends, and
 * for which host it is */
bool mhd_is_well_framed(struct MHD_Connection *mhd);

/* A reply while it is sent. */
struct mhd_reply {
        const struct http_exchange *exchange;
        size_t piece, offset; /* the next byte to send */
};

/** mhd_response() - the body of @exchange, which outlives the response, as does @reply */
struct MHD_Response *mhd_response(struct mhd_reply *reply, const struct http_exchange *exchange);
