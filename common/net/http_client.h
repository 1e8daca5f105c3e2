/*
 * Asynchronous HTTP requests; the only user of libcurl. Everything runs on the loop's thread. Every
 * request has a deadline and a limit on its response body.
 *
 * Calls are distributed over 64 curl multi handles, by host or by turn, because one handle
 * slows down with its number of connections. Connections are kept alive; redirects are not
 * followed, and the environment's proxies are not used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "net/loop.h"

struct http_client;
struct http_call;

struct http_client_options {
        size_t max_in_flight;   /* per pool; further calls are queued; 0: 128 */
        size_t max_descriptors; /* of calls without a pool of their own; 0: no limit. Idle
                                   connections are closed to keep it, those of calls under way are
                                   not */
        const char *user_agent; /* borrowed */
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
/** http_client_free() - cancels all calls, without callbacks */
void http_client_free(struct http_client *client);
DEFINE_FREEP(struct http_client, http_client_free);

/** http_client_allow() - raise max_in_flight; a lower one is ignored. Not from within on_data */
void http_client_allow(struct http_client *client, size_t max_in_flight);

/*
 * TLS settings. Strings are borrowed for the duration of http_start(). PEM texts instead of paths:
 * curl would block on a FIFO, cache a CA file for a day, and reuse connections after a certificate
 * was renewed. Without a CA the system's bundle is used, or the file that SSL_CERT_FILE names (one
 * file; curl would parse a CApath for every connection).
 */
struct http_tls {
        const char *ca_pem;
        const char *cert_pem, *key_pem;
        const char *server_name; /* verified, and sent as SNI, instead of the URL's host */
        bool is_insecure;        /* no verification at all */
};

/* Why there is no answer; also the `reason` label of metrics. */
enum http_failure {
        HTTP_OK, /* a response was received, whatever its status */
        HTTP_DNS,
        HTTP_CONNECT, /* refused or unreachable */
        HTTP_TLS,
        HTTP_TIMEOUT,
        HTTP_RESET,     /* connection closed early, also within the body */
        HTTP_TOO_LARGE, /* past max_body_bytes */
        HTTP_PROTOCOL,  /* not HTTP, bad encoding */
        HTTP_FAILURE_COUNT,
};

/** http_failure_name() - "ok", "dns", "connect", "tls", "timeout", "reset", "too_large", "protocol"
 */
const char *http_failure_name(enum http_failure failure);

/** http_status_reason() - the `reason` label for an unwanted status: "unauthorized" (401,
 * 403), "not_found", "status_4xx", "status_5xx", "status_other" */
const char *http_status_reason(int status);

struct http_response {
        enum http_failure failure;
        int status;             /* 0 without an answer */
        const char *body;       /* borrowed for the callback, NUL-terminated; "" when streamed */
        size_t body_bytes;      /* also counts what on_data took */
        int64_t retry_after_ms; /* of Retry-After in seconds, at most a minute; -1: none */
        bool has_date;          /* there was a header Date */
        int64_t clock_ahead_ms; /* by how much this machine's clock was ahead of Date, which is in
                                   seconds, when it came; negative: behind */
        char content_type[96];  /* "" when absent */
        int64_t duration_ms;    /* from start of the transfer to its end, without queueing */
        struct error err;       /* what went wrong, unless failure is HTTP_OK */
};

/** http_done_fn: called exactly once unless the call was cancelled. The call is freed afterwards.
 * It may cancel other calls, start new ones, and free the client. */
typedef void http_done_fn(void *userdata, const struct http_response *response);
/** http_data_fn: a piece of a 2xx body; of another answer's, up to 256 KiB are kept for on_done.
 * Returning false ends the call (HTTP_PROTOCOL). It may cancel any call, start new ones, and free
 * the client. */
typedef bool http_data_fn(void *userdata, const char *data, size_t len);

enum { HTTP_POOLS = 3 };

struct http_request {
        const char *method;         /* "GET", "PATCH", ...; static text */
        const char *url;            /* http or https */
        const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
        const char *body;           /* copied; may be NULL. Its Content-Type is in @headers */
        size_t body_bytes;
        int64_t connect_timeout_ms; /* 0: 5 s */
        int64_t timeout_ms;         /* whole transfer, without queueing; must be > 0 */
        int64_t idle_timeout_ms;    /* without receiving a byte; 0: off */
        int64_t answer_timeout_ms;  /* until the response headers; 0: off */
        int64_t end_mono_ms;        /* when it ends with HTTP_TIMEOUT, sent or not; 0: off */
        int64_t lost_timeout_ms;    /* until a connection is broken whose peer's kernel no longer
                                       answers, idle or not; 0: as long as the system waits */
        size_t max_body_bytes;      /* of all pieces together when streamed; 1 to INT64_MAX */
        bool wants_gzip;            /* ask for gzip; the limit applies to the unpacked body */
        const char *basic_auth;     /* "user:password"; may be NULL */
        const struct http_tls *tls; /* may be NULL */
        const char *unix_socket;    /* connect to this path in place of the URL's host; or NULL */
        /* The call's connections are shared only with calls of an equal pool (streams that stay
         * open, such as watches, get one of their own); below HTTP_POOLS, 0 is the common pool. */
        unsigned pool;
        /* The call is made again and again, at this time of its period, in [0, 1). Hosts whose
         * turns are close share a multi handle: while one is in use, curl looks at all of its idle
         * connections every second. A host's turn does not change. */
        double turn_ratio;
        bool has_turn;         /* else calls are distributed by host */
        http_data_fn *on_data; /* NULL: the body is collected */
        http_done_fn *on_done;
        void *userdata;
};

/**
 * http_start() - begin; everything in @request is copied as needed
 * Return: the call, borrowed, valid until on_done has been called or http_cancel(). Failures,
 * even a malformed URL (HTTP_PROTOCOL), arrive through on_done, never from within http_start().
 */
struct http_call *http_start(struct http_client *client, const struct http_request *request);
/** http_is_answered() - the headers of a 2xx response were received */
bool http_is_answered(const struct http_call *call);
/** http_content_type() - of the answer, from within on_data, borrowed for it; "" without one */
const char *http_content_type(const struct http_call *call);
/** http_cancel() - end without a callback; @call may be NULL */
void http_cancel(struct http_call *call);
