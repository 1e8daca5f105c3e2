/*
 * An HTTP server, the only user of libmicrohttpd: a pool of worker threads, each with its own
 * connections. The handler runs on a worker once the request is complete.
 *
 * Every answer carries Content-Length (kube-scheduler opens a new connection after a chunked one).
 * The idle timeout is above the 90 s of Go's client, which would otherwise meet half-closed
 * connections.
 *
 * A request's body has a ceiling (413), and so have all bodies together (503), see body_pool.h. A
 * peer that is too slow is disconnected: a connection has 10 s for its handshake and first request
 * line. Then a request has 30 s (or the idle timeout, if shorter) to arrive, and its reply as long
 * to be sent. At the connection limit a new connection replaces another, see connection_watch.h.
 *
 * A worker takes one step of each of its connections in turn, and takes new connections before each
 * such round. So a probe is answered within two rounds, however many clients ask for pages, if no
 * step takes long: a handler shares what is expensive to make (shared_page.h).
 *
 * TLS is 1.2 or 1.3; the only protocol of ALPN is http/1.1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "metrics/metrics.h"

struct http_server;

struct http_exchange {
        /* The request; borrowed, valid until the reply has been sent. */
        const char *method; /* a HEAD request arrives as "GET"; its reply's body is not sent */
        const char *path;   /* decoded, without the query; for that see http_query() */
        const char *body;   /* 64 zero bytes follow it, so that a parser may overread; never NULL */
        size_t body_bytes;
        const char *content_type; /* "" when absent */
        void *connection;         /* private to the server */

        /* The reply, filled in by the handler; initially 500 without a body. kube-scheduler drops a
         * connection when an error has a body, so errors of the verbs have none. */
        int status;
        const char *reply_content_type; /* static string */
        /* Further headers: name, value, ..., NULL; static strings. NULL: none */
        const char *const *reply_headers;
        const struct iovec *reply; /* pieces, in order; they may point into the request */
        size_t reply_count;        /* 0: empty body */
        /* Called on the worker's thread when the reply was sent or the connection broke. */
        void (*release)(void *userdata);
        void *release_userdata;
};

/** http_query() - value of a query parameter, "" when it has none, NULL when it is absent (or the
 * exchange has no connection, as in a handler's unit test) */
const char *http_query(const struct http_exchange *exchange, const char *name);
/**
 * http_query_only() - the query of a page that takes one parameter
 * @ret: its value, decoded, "" when it has none; NULL: there is no query
 * Return: 0; -EINVAL another parameter, one that is repeated, or a value that holds a NUL
 */
_must_check_ int http_query_only(const struct http_exchange *exchange, const char *name,
                                 const char **ret);

typedef void http_handler_fn(void *userdata, struct http_exchange *exchange);

/**
 * http_suspend() - the reply to @exchange comes later; only from within its handler
 *
 * The worker serves other connections meanwhile; the suspension has no deadline, and a disconnect
 * of the peer is not noticed. From the suspension on, the exchange belongs to the later caller of
 * http_resume(), which may run before the handler has returned.
 */
void http_suspend(struct http_exchange *exchange);
/** http_resume() - send the reply in @exchange, which belongs to the worker again; any thread.
 * Every suspended exchange must be resumed before http_server_stop(). */
void http_resume(struct http_exchange *exchange);

/* PEM files. All NULL: plain HTTP. Else certificate and key must both be set. */
struct http_server_tls {
        const char *cert_file, *key_file;
        const char *client_ca_file; /* clients need a certificate issued by it; NULL: none */
        /* Of which the certificate's common name is one; borrowed while the server runs. 0: any */
        const char *const *client_names;
        size_t client_name_count;
};

struct http_server_options {
        const char *bind_address; /* "127.0.0.1", "::", ...; NULL: every address, v4 and v6 */
        uint16_t port;            /* 0: any free one, see http_server_port() */
        unsigned threads;         /* workers, 1 to 64; the connections are divided among them */
        size_t max_body_bytes;
        unsigned max_connections; /* 0: 512 */
        unsigned idle_timeout_s;  /* 0: 120 */
        unsigned first_request_s; /* 0: 10; at most the idle timeout */
        struct metrics *metrics;  /* outlives the server; NULL: none */
        struct http_server_tls tls;
        http_handler_fn *handler;
        void *userdata;
};

/** http_server_check() - whether a server can be started with these options, as far as that can be
 * said without opening anything. Return: 0; -EINVAL */
_must_check_ int http_server_check(const char *bind_address, const struct http_server_tls *tls,
                                   struct error *err);
/**
 * http_server_start() - listen and serve
 * Return: 0; negative errno, with the address and port, or the TLS file, in @err
 */
_must_check_ int http_server_start(const struct http_server_options *options,
                                   struct http_server **ret, struct error *err);
uint16_t http_server_port(const struct http_server *server);

/**
 * http_server_set_tls() - read the files again, and use them for new connections
 *
 * All three are replaced at once. Open connections keep what they began with; when the client CA
 * has changed, they are closed after their next reply, since their client may no longer be trusted.
 * A certificate outside of its validity is rejected, unless it is the current one. Any thread; only
 * for a server that was started with TLS, and with a client CA if and only if it was started with
 * one. The names of clients are those of the start.
 * Return: 0; negative errno, and nothing is replaced
 */
_must_check_ int http_server_set_tls(struct http_server *server,
                                     const struct http_server_tls *files, struct error *err);
/** http_server_certificate_validity() - of the current certificate of a server with TLS */
void http_server_certificate_validity(struct http_server *server, int64_t *ret_begins_unix_ms,
                                      int64_t *ret_ends_unix_ms);

/** http_server_quiesce() - close the listening socket; open connections stay */
void http_server_quiesce(struct http_server *server);
/** http_server_stop() - wait at most @drain_ms for requests under way, then stop; frees @server.
 * Waits for running handlers; no exchange may be suspended. */
void http_server_stop(struct http_server *server, int64_t drain_ms);
