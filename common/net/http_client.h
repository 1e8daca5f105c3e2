/*
 * Asynchronous HTTP requests; the only user of libcurl. Everything runs on the loop's thread. Every
 * request has a deadline and a limit for the response body.
 *
 * Calls are distributed over 64 curl multi handles, by host or by phase, because a handle slows
 * down with its number of connections. Connections are kept alive. Redirects are not followed, and
 * the proxies of the environment are not used.
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
        size_t max_in_flight;   /* more calls are queued; 0: 128 */
        size_t max_descriptors; /* 0: no limit. Only idle connections are closed to stay below it */
        const char *user_agent; /* borrowed */
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
/** http_client_free() - cancels all calls, without callbacks; not in a callback of a call */
void http_client_free(struct http_client *client);
DEFINE_FREEP(struct http_client, http_client_free);

/** http_client_allow() - raise max_in_flight; a lower value is ignored. Not in on_data */
void http_client_allow(struct http_client *client, size_t max_in_flight);

/*
 * TLS settings. Strings are borrowed for the duration of http_start(). They are PEM texts, not
 * paths: curl would block on a FIFO, cache a CA file for a day, and reuse connections after a
 * certificate was renewed. Without a CA, the file named by SSL_CERT_FILE is used, else the system's
 * bundle.
 */
struct http_tls {
        const char *ca_pem;
        const char *cert_pem, *key_pem;
        const char *server_name; /* verified and sent as SNI instead of the URL's host */
        bool is_insecure;        /* no verification at all */
};

/* Why there is no response; also the `reason` label of metrics. */
enum http_failure {
        HTTP_OK, /* a response of any status */
        HTTP_DNS,
        HTTP_CONNECT, /* refused or unreachable */
        HTTP_TLS,
        HTTP_TIMEOUT,
        HTTP_RESET,     /* closed early, perhaps within the body */
        HTTP_TOO_LARGE, /* more than max_body_bytes */
        HTTP_PROTOCOL,  /* not HTTP, or a bad encoding */
        HTTP_FAILURE_COUNT,
};

/** http_failure_name() - "ok", "dns", "connect", "tls", "timeout", "reset", "too_large" or
 * "protocol" */
const char *http_failure_name(enum http_failure failure);

/** http_status_reason() - the `reason` label of an error status: "unauthorized" (401,
 * 403), "not_found", "status_4xx", "status_5xx", "status_other" */
const char *http_status_reason(int status);

struct http_response {
        enum http_failure failure;
        int status;             /* 0 without a response */
        bool is_sent;           /* a connection was there, and the request was sent on it */
        const char *body;       /* borrowed during the callback, NUL-terminated; "" if streamed */
        size_t body_bytes;      /* including pieces for on_data */
        bool has_length;        /* Content-Length announced the length, so the body is whole */
        int64_t retry_after_ms; /* of a Retry-After in seconds, at most a minute; -1: none */
        bool has_date;          /* there is a Date header */
        int64_t clock_ahead_ms; /* of this machine's clock against Date, which has whole seconds;
                                   negative: it is slow */
        char content_type[96];  /* "" if absent */
        int64_t duration_ms;    /* of the transfer, without queueing */
        struct error err;       /* set unless failure is HTTP_OK */
};

/** http_done_fn: called exactly once, unless the call is cancelled; then the call is freed. It can
 * cancel other calls, and start calls. */
typedef void http_done_fn(void *userdata, const struct http_response *response);
/** http_data_fn: a piece of a 2xx body. Of other bodies, on_done gets up to 256 KiB. If it returns
 * false, the call ends with HTTP_PROTOCOL. It can cancel any call, and start calls. */
typedef bool http_data_fn(void *userdata, const char *data, size_t len);

struct http_request {
        const char *method;         /* "GET", "PATCH", ...; static text */
        const char *url;            /* http or https */
        const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
        const char *body;           /* copied; NULL: none. Its Content-Type is in @headers */
        size_t body_bytes;
        int64_t connect_timeout_ms; /* 0: 5 s */
        int64_t timeout_ms;         /* of the transfer, without queueing; > 0 */
        int64_t end_mono_ms;        /* the end, with HTTP_TIMEOUT, even before it is sent; 0: off */
        int64_t lost_timeout_ms;    /* until a connection breaks whose peer's kernel no longer
                                       answers; 0: the system's default */
        size_t max_body_bytes;      /* of all pieces together if streamed; 1 to INT64_MAX */
        bool wants_gzip;            /* the limit applies to the unpacked body */
        const char *basic_auth;     /* "user:password"; may be NULL */
        const struct http_tls *tls; /* may be NULL */
        const char *unix_socket;    /* path to connect to, instead of the URL's host; or NULL */
        /* A periodic call starts at this point of its period, in [0, 1). Hosts with close phases
         * share a multi handle: curl checks all idle connections of a handle every second while it
         * is in use. The phase of a host does not change. */
        double phase_ratio;
        bool has_phase;        /* else the call is assigned by host */
        http_data_fn *on_data; /* NULL: on_done gets the whole body */
        http_done_fn *on_done;
        void *userdata;
};

/**
 * http_start() - start a call; @request is copied
 * Return: the call, borrowed, valid until on_done or http_cancel(). All failures, even a malformed
 * URL (HTTP_PROTOCOL), are reported by on_done, which http_start() never calls itself.
 */
struct http_call *http_start(struct http_client *client, const struct http_request *request);
/** http_is_answered() - whether the headers of a 2xx response have been received */
bool http_is_answered(const struct http_call *call);
/** http_content_type() - of the response, borrowed during on_data; "" if absent */
const char *http_content_type(const struct http_call *call);
/** http_cancel() - end the call without a callback; @call can be NULL */
void http_cancel(struct http_call *call);
