/*
 * One HTTP call: a copy of the request, libcurl's options for it, and the response. Private to the
 * HTTP client; http_client.c schedules calls.
 *
 *     http_client                      owns the idle easy handles and the pool of bodies
 *       |                              queue -> active, up to max_in_flight of them
 *       +- shard                       a multi handle: its connections, and its timer in the loop
 *            +- call                   owns its copy of the request; while it is active it has an
 *                                      easy handle, and a body after its first piece
 *
 *     QUEUED -> ACTIVE -> DONE, during its on_done; then it is freed
 *
 * A cancelled call is freed at once. While a function of curl runs, it is DOOMED until that
 * returns.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net/body_pool.h"
#include "net/http_client.h"
#include "net/loop.h"

/* An owned copy of struct http_tls, shared by consecutive calls with equal settings. */
struct http_tls_copy {
        unsigned refs;
        char *ca_pem, *cert_pem, *key_pem, *server_name;
        bool is_insecure;
};

/** http_tls_copy_get() - a reference to @last if it equals @tls, else a new copy */
struct http_tls_copy *http_tls_copy_get(struct http_tls_copy *last, const struct http_tls *tls);
void http_tls_copy_unref(struct http_tls_copy *copy);

enum http_call_state {
        HTTP_CALL_QUEUED,
        HTTP_CALL_ACTIVE, /* its easy handle is in the shard's multi handle */
        HTTP_CALL_DOOMED, /* cancelled while curl runs; freed when curl returns */
        HTTP_CALL_DONE,   /* its on_done is running */
};

struct http_shard;

struct http_call {
        struct http_client *client;
        struct http_shard *shard;
        TAILQ_ENTRY(http_call) entry; /* in client->queue or client->active */
        enum http_call_state state;

        struct http_request request; /* borrowed members are NULL: they are copied below */
        char *url, *body, *basic_auth, *unix_socket;
        struct curl_slist *headers, *connect_to;
        struct http_tls_copy *tls;
        bool is_malformed; /* fails without a transfer */

        /* The transfer. */
        CURL *easy;
        struct body_pool *bodies;
        struct loop_timer timer; /* the end of timeout_ms */
        int64_t started_mono_ms;
        char curl_message[CURL_ERROR_SIZE];
        int socket_errno; /* of a failed socket(); 0: none */
        bool is_sent;

        /* The answer. */
        struct body *body_received; /* NULL: none, or on_data has it */
        size_t received_bytes;      /* decoded, including those of on_data */
        size_t header_bytes;
        int64_t retry_after_ms;
        bool has_date;
        int64_t clock_ahead_ms;
        bool has_headers; /* all headers have arrived */
        bool is_too_large;
        bool is_refused; /* by on_data */
};

/** http_call_new() - copy @request; for @last_tls see http_tls_copy_get() */
struct http_call *http_call_new(const struct http_request *request, struct http_tls_copy *last_tls);
void http_call_free(struct http_call *call);

/** http_call_authority() - the "host:port" of @url, without credentials. Return: its length; 0:
 * none */
size_t http_call_authority(const char *url, const char **ret_authority);

/**
 * http_call_configure() - set all options of call->easy
 * @user_agent: NULL: none
 * @ca_bundle:  path of the trusted CAs if the request has none; NULL: libcurl's default
 * Return: CURLE_OK, or why the call cannot start
 */
CURLcode http_call_configure(struct http_call *call, const char *user_agent, const char *ca_bundle);

/**
 * http_call_result() - the response for on_done
 * @code: the result of the transfer; call->easy is still valid
 */
void http_call_result(struct http_call *call, CURLcode code, struct http_response *ret_response);
