/*
 * An HTTP server on libmicrohttpd: worker threads, each with its own connections. The handler runs
 * on a worker when the request is complete.
 *
 * Every reply has a Content-Length: kube-scheduler opens a new connection after a chunked reply.
 * The idle timeout is longer than the 90 s of Go's client, which would otherwise use connections
 * that are half closed.
 *
 * The body of a request has a ceiling (413), and so do all bodies together (503), see body_pool.h.
 * Slow clients are disconnected: the handshake and the first request line have 10 s. After that, a
 * request has 30 s to arrive (or the idle timeout, if shorter), and so does its reply. At the
 * connection limit, a new connection replaces another one, see connection_watch.h.
 *
 * A worker handles one step of each of its connections in turn, and takes new connections before
 * each round. A probe is therefore answered within two rounds, however many clients request pages.
 * The handler runs for one request of an address at a time, see address_queue.h. It must be fast:
 * pages that are expensive to render are shared (shared_page.h).
 *
 * TLS 1.2 or 1.3, with http/1.1 as the only ALPN protocol.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "metrics/metrics.h"

struct http_server;

struct http_exchange {
        /* The request, borrowed until the reply has been sent. */
        const char *method; /* "GET" also for HEAD, whose reply is sent without its body */
        const char *path;   /* decoded, without the query: see http_query() */
        const char *body;   /* never NULL; followed by 64 zeros, so that parsers can overread */
        size_t body_bytes;
        const char *content_type; /* "" if absent */
        void *connection;         /* private to the server */

        /* The reply, set by the handler; initially 500 without a body. kube-scheduler closes the
         * connection after an error with a body: errors of the verbs have none. */
        int status;
        const char *reply_content_type; /* static string */
        /* More headers: name, value, ..., NULL; static strings. NULL: none */
        const char *const *reply_headers;
        const struct iovec *reply; /* pieces in order; they can point into the request */
        size_t reply_count;        /* 0: empty body */
        /* Called on the worker's thread after the reply was sent or the connection broke. */
        void (*release)(void *userdata);
        void *release_userdata;
};

/** http_query() - a parameter of the query; "" if it has no value; NULL if it is absent (or if the
 * exchange has no connection, as in unit tests) */
const char *http_query(const struct http_exchange *exchange, const char *name);
/** http_takes() - whether the request has the method of its page, "GET" or "POST"; if not, the
 * reply is 405 with Allow, as in RFC 9110, section 15.5.6 */
bool http_takes(struct http_exchange *exchange, const char *method);
/** http_reply_text() - reply with @text, which is consumed; @content_type is static */
void http_reply_text(struct http_exchange *exchange, int status, const char *content_type,
                     struct buf *text);

/** http_reply_error() - reply with {"error": @why} */
void http_reply_error(struct http_exchange *exchange, int status, const char *why);

typedef void http_handler_fn(void *userdata, struct http_exchange *exchange);

/**
 * http_suspend() - reply to @exchange later; only in its handler
 *
 * The worker serves other connections until then. A suspension has no deadline, and does not notice
 * that the client disconnects. The exchange now belongs to the caller of http_resume(), which can
 * run before the handler returns.
 */
void http_suspend(struct http_exchange *exchange);
/** http_resume() - send the reply in @exchange, which belongs to the worker again. Any thread.
 * Resume every suspended exchange before http_server_stop() */
void http_resume(struct http_exchange *exchange);

/* PEM files. All NULL: plain HTTP. Otherwise certificate and key are both set. */
struct http_server_tls {
        const char *cert_file, *key_file;
        const char *client_ca_file; /* clients need a certificate from it; NULL: they need none */
        /* Allowed common names of clients; borrowed while the server runs. None: any name */
        const char *const *client_names;
        size_t client_name_count;
};

struct http_server_options {
        const char *bind_address; /* "127.0.0.1", "::", ...; NULL: all addresses, IPv4 and IPv6 */
        uint16_t port;            /* 0: any free port, see http_server_port() */
        unsigned threads;         /* workers, 1 to 64, which share the connections */
        size_t max_body_bytes;
        unsigned max_connections; /* 0: 512 */
        unsigned idle_timeout_s;  /* 0: 120 */
        unsigned first_request_s; /* 0: 10; at most the idle timeout */
        struct metrics *metrics;  /* outlives the server; NULL: none */
        struct http_server_tls tls;
        http_handler_fn *handler;
        void *userdata;
};

/** http_server_check() - check options of a server without opening anything. Return: 0; -EINVAL */
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
 * All three are replaced together. Open connections keep theirs; if the client CA has changed, they
 * are closed after their next reply, since their client may no longer be trusted. A certificate
 * that is expired or not valid yet is rejected unless it is the current one. Any thread. The server
 * must have been started with TLS, and with a client CA if and only if @files has one. The allowed
 * names of clients do not change.
 * Return: 0; negative errno: nothing was replaced
 */
_must_check_ int http_server_set_tls(struct http_server *server,
                                     const struct http_server_tls *files, struct error *err);
/** http_server_certificate_validity() - the validity of the current certificate; only with TLS */
void http_server_certificate_validity(struct http_server *server, int64_t *ret_begins_unix_ms,
                                      int64_t *ret_ends_unix_ms);

/** http_server_quiesce() - accept no more connections; open ones stay */
void http_server_quiesce(struct http_server *server);
/** http_server_stop() - wait up to @drain_ms for requests, and for all running handlers; then free
 * @server. No exchange may be suspended */
void http_server_stop(struct http_server *server, int64_t drain_ms);
