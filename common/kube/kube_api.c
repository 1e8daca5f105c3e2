#include "kube/kube_api.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/backoff.h"
#include "kube/kube_proto.h"

enum {
        DEFAULT_TIMEOUT_MS = 10000,
        /* A watch is silent for minutes. A lost route or machine must be noticed within 30 s,
         * including the time until the next watch is answered. */
        LOST_TIMEOUT_MS = 20000,
        DEFAULT_MAX_BODY_BYTES = 8 << 20,
        RETRY_FIRST_MS = 500,
        RETRY_MAX_MS = 10000,
        STATUS_MAX_BYTES = 64 << 10,
        MESSAGE_MAX_BYTES = 300,
};

/* Each has connections and a queue: streams stay open and must not block short calls, and urgent
 * calls must not wait for others. */
enum client { COMMON_CLIENT, STREAM_CLIENT, URGENT_CLIENT, CLIENT_COUNT };

struct kube_api {
        struct loop *loop;
        struct http_client *clients[CLIENT_COUNT];
        struct kube_access *config;
        struct metrics *metrics;
        struct metrics_series *clock; /* NULL: no metrics */
        int64_t clock_ahead_ms;
        bool has_answered; /* at least once: the address is right */
        LIST_HEAD(, kube_call) calls;
};

struct kube_call {
        struct kube_api *api;
        LIST_ENTRY(kube_call) entry;
        struct kube_request request; /* its path and body are NULL */
        char *url, *body;
        struct http_call *http;  /* NULL between attempts */
        struct loop_timer timer; /* the pause before an attempt */
        struct backoff backoff;
        int retries_left;
        bool has_retried_unauthorized;
        bool has_streamed;
        bool is_html; /* the answer is HTML */
};

static const struct {
        const char *name;
        int errno_code;
        int status; /* its most usual status */
} outcomes[] = {
        [KUBE_OK] = {"ok", 0, 200},
        [KUBE_UNAUTHORIZED] = {"unauthorized", EACCES, 401},
        [KUBE_FORBIDDEN] = {"forbidden", EPERM, 403},
        [KUBE_NOT_FOUND] = {"not_found", ENOENT, 404},
        [KUBE_CONFLICT] = {"conflict", EBUSY, 409},
        [KUBE_GONE] = {"gone", ESTALE, 410},
        [KUBE_INVALID] = {"invalid", EINVAL, 400},
        [KUBE_THROTTLED] = {"throttled", EAGAIN, 429},
        [KUBE_UNAVAILABLE] = {"unavailable", EIO, 503},
        [KUBE_BAD_ANSWER] = {"bad_answer", EBADMSG, 0},
};

const char *kube_outcome_name(enum kube_outcome outcome) {
        return outcomes[outcome].name;
}

static void attempt_call(void *userdata);

struct kube_api *kube_api_new(struct loop *loop, const char *user_agent, struct kube_access *config,
                              struct metrics *metrics) {
        struct kube_api *api = xcalloc(1, sizeof(*api));

        *api = (struct kube_api){.loop = loop, .config = config, .metrics = metrics};
        for (size_t i = 0; i < CLIENT_COUNT; i++)
                api->clients[i] = http_client_new(
                        loop, &(struct http_client_options){.user_agent = user_agent});
        if (metrics)
                api->clock = metrics_gauge(
                        metrics, "plimsoll_clock_ahead_seconds",
                        "How far this machine's clock is ahead of the API server's, whose answers "
                        "have whole seconds; negative if it is slow.",
                        NULL);
        return api;
}

int64_t kube_api_clock_ahead_ms(const struct kube_api *api) {
        return api->clock_ahead_ms;
}

static void note_answer(struct kube_api *api, const struct http_response *response) {
        api->has_answered |= response->failure == HTTP_OK;
        if (!response->has_date)
                return;
        api->clock_ahead_ms = response->clock_ahead_ms;
        if (api->clock)
                metrics_set(api->clock, (double)response->clock_ahead_ms / (double)MS_PER_S);
}

void kube_api_free(struct kube_api *api) {
        if (!api)
                return;
        while (!LIST_EMPTY(&api->calls))
                kube_cancel(LIST_FIRST(&api->calls));
        for (size_t i = 0; i < CLIENT_COUNT; i++)
                http_client_free(api->clients[i]);
        free(api);
}

static struct kube_call *call_new(struct kube_api *api, const struct kube_request *request) {
        struct kube_call *call = xcalloc(1, sizeof(*call));
        bool may_repeat = strcmp(request->method, "GET") == 0 ||
                          strcmp(request->method, "PUT") == 0 ||
                          strcmp(request->method, "PATCH") == 0;

        call->api = api;
        call->request = *request;
        call->request.path = call->request.body = NULL;
        call->url = xasprintf("%s%s", kube_access_server(api->config), request->path);
        call->body = request->body ? xmemdup0(request->body, request->body_bytes) : NULL;
        call->retries_left = may_repeat ? request->max_retries : 0;
        call->backoff = (struct backoff){.first_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS};
        LIST_INSERT_HEAD(&api->calls, call, entry);
        return call;
}

static void kube_call_free(struct kube_call *call) {
        loop_timer_disarm(call->api->loop, &call->timer);
        LIST_REMOVE(call, entry);
        free(call->url);
        free(call->body);
        free(call);
}

bool kube_is_answered(const struct kube_call *call) {
        return call->http && http_is_answered(call->http);
}

void kube_cancel(struct kube_call *call) {
        if (!call)
                return;
        if (call->http)
                http_cancel(call->http);
        kube_call_free(call);
}

static void count_call(struct kube_call *call, const char *code, int64_t duration_ms) {
        struct metrics *metrics = call->api->metrics;
        const char *verb = call->request.on_data ? "WATCH" : call->request.method;
        const char *resource = call->request.resource;

        if (!metrics)
                return;
        metrics_inc(metrics_counter(metrics, "plimsoll_api_requests_total",
                                    "Requests to the API server by HTTP status or failure reason.",
                                    LABELS("verb", verb, "resource", resource, "code", code)));
        metrics_set(
                metrics_gauge(metrics, "plimsoll_api_refused",
                              "1 if the API server refused the last request of this kind (403).",
                              LABELS("verb", verb, "resource", resource)),
                strcmp(code, "403") == 0);
        if (duration_ms >= 0 && !call->request.on_data)
                metrics_observe(metrics_histogram(metrics, "plimsoll_api_request_duration_seconds",
                                                  "Duration of requests to the API server.",
                                                  LABELS("verb", verb, "resource", resource),
                                                  &metrics_duration_bounds),
                                (double)duration_ms / (double)MS_PER_S);
}

/* API servers never answer with HTML, but proxies, load balancers and login pages do. */
static bool is_html(const char *content_type) {
        return strncasecmp(content_type, "text/html", strlen("text/html")) == 0;
}

static enum kube_outcome outcome_of(const struct kube_call *call,
                                    const struct http_response *response) {
        if (call->is_html && response->status < 500 && response->status != 401 &&
            response->status != 403 && response->status != 429)
                return KUBE_BAD_ANSWER;
        if (response->failure == HTTP_TOO_LARGE || response->failure == HTTP_PROTOCOL)
                return KUBE_BAD_ANSWER;
        if (response->failure != HTTP_OK)
                return KUBE_UNAVAILABLE;
        for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
                if (outcomes[i].status == response->status)
                        return (enum kube_outcome)i;
        if (response->status >= 500)
                return KUBE_UNAVAILABLE;
        if (response->status >= 400)
                return KUBE_INVALID;
        /* API servers never redirect, but login pages do. */
        return response->status < 300 ? KUBE_OK : KUBE_BAD_ANSWER;
}

/* Reads JSON or protobuf; NULL: it is neither. */
static json_t *parse_status(const struct http_response *response) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(2 * STATUS_MAX_BYTES);
        const char *json = response->body;
        size_t len = response->body_bytes;
        json_t *status = NULL;

        if (len > STATUS_MAX_BYTES)
                return NULL;
        if (kube_proto_is(json, len)) {
                if (!kube_proto_object(&text, &kube_proto_status, json, len))
                        return NULL;
                json = text.data;
                len = text.len;
        }
        return json_parse(json, len, &status, NULL) < 0 ? NULL : status;
}

/* "403 nodes is forbidden: ...", from a Status, or from the plain text of throttling and proxies.
 */
static void describe_status(const struct kube_call *call, const struct http_response *response,
                            enum kube_outcome outcome, struct error *err) {
        bool is_redirect = response->status >= 300 && response->status < 400;

        if (call->is_html || is_redirect) {
                (void)error_set(err, outcomes[outcome].errno_code,
                                "%d with %s from %s: this is a proxy or a login page, not an API "
                                "server",
                                response->status ? response->status : 200,
                                call->is_html ? "text/html" : "a redirect",
                                kube_access_server(call->api->config));
                return;
        }
        if (response->failure != HTTP_OK) {
                bool is_lost = response->failure == HTTP_DNS || response->failure == HTTP_CONNECT;
                (void)error_set(err, response->err.code, "%s%s", response->err.msg,
                                is_lost && !call->api->has_answered ? "; are host and port right?"
                                                                    : "");
                return;
        }
        json_auto_t *status = parse_status(response);
        const char *message = json_string_at(status, "message", NULL);
        char code[16];
        int code_len = snprintf(code, sizeof(code), "%d ", response->status);
        if (!message)
                message = response->body;
        if (strncmp(message, code, (size_t)code_len) == 0) /* "404 page not found" */
                message += code_len;
        int len = (int)size_min(strcspn(message, "\r\n"), MESSAGE_MAX_BYTES);
        (void)error_set(err, outcomes[outcome].errno_code, "%d %.*s", response->status,
                        len > 0 ? len : (int)sizeof("(no message)") - 1,
                        len > 0 ? message : "(no message)");
}

/* Frees the call first: on_done can do anything. */
static void end_call(struct kube_call *call, const struct kube_answer *answer) {
        kube_done_fn *on_done = call->request.on_done;
        void *userdata = call->request.userdata;

        kube_call_free(call);
        on_done(userdata, answer);
}

/* Counts a retry, and returns the pause before it; -1: no retry. */
static int64_t retry_pause_ms(struct kube_call *call, const struct http_response *response,
                              enum kube_outcome outcome) {
        bool has_retry_after = response->retry_after_ms >= 0;

        if (call->has_streamed)
                return -1;
        if (outcome == KUBE_UNAUTHORIZED && !call->has_retried_unauthorized) {
                call->has_retried_unauthorized = true;
                kube_access_unauthorized(call->api->config);
                return 0;
        }
        if (call->retries_left <= 0 ||
            (outcome != KUBE_UNAVAILABLE && !(outcome == KUBE_THROTTLED && has_retry_after)))
                return -1;
        call->retries_left--;
        if (has_retry_after)
                return response->retry_after_ms;
        return backoff_next_ms(&call->backoff, loop_now_mono_ms(call->api->loop));
}

/* Call it each time: the end of a fence moves. */
static int64_t end_mono_ms(const struct kube_call *call) {
        const struct kube_fence *fence = &call->request.fence;
        int64_t give_up_mono_ms = call->request.give_up_mono_ms;
        int64_t until_mono_ms = fence->until_mono_ms ? fence->until_mono_ms(fence->userdata)
                                                     : INT64_MAX;

        return give_up_mono_ms > 0 && give_up_mono_ms < until_mono_ms ? give_up_mono_ms
                                                                      : until_mono_ms;
}

static void on_http_done(void *userdata, const struct http_response *response) {
        struct kube_call *call = userdata;

        if (!call->has_streamed)
                call->is_html = is_html(response->content_type);
        struct kube_answer answer = {
                .outcome = outcome_of(call, response),
                .status = response->status,
                .body = response->body,
                .body_bytes = call->request.on_data ? 0 : response->body_bytes,
                .err = ERROR_NULL,
                .retry_after_ms = response->retry_after_ms,
                .failure = response->failure,
        };
        _cleanup_(freep) char *code = xasprintf("%d", response->status);

        call->http = NULL;
        note_answer(call->api, response);
        count_call(call, response->failure == HTTP_OK ? code : http_failure_name(response->failure),
                   response->duration_ms);
        if (response->failure == HTTP_TLS)
                kube_access_handshake_failed(call->api->config);
        int64_t pause_ms = retry_pause_ms(call, response, answer.outcome);
        int64_t again_mono_ms = loop_now_mono_ms(call->api->loop) + pause_ms;
        if (pause_ms >= 0 && again_mono_ms < end_mono_ms(call)) {
                loop_timer_arm(call->api->loop, &call->timer, again_mono_ms, attempt_call, call);
                return;
        }
        if (answer.outcome != KUBE_OK)
                describe_status(call, response, answer.outcome, &answer.err);
        end_call(call, &answer);
}

static bool on_http_data(void *userdata, const char *data, size_t len) {
        struct kube_call *call = userdata;

        if (!call->has_streamed)
                call->is_html = is_html(http_content_type(call->http));
        call->has_streamed = true;
        return !call->is_html && call->request.on_data(call->request.userdata, data, len);
}

static void on_too_late(void *userdata) {
        struct kube_call *call = userdata;
        struct kube_answer answer = {
                .outcome = KUBE_UNAVAILABLE,
                .body = "",
                .retry_after_ms = -1,
        };

        (void)error_set(&answer.err, ETIMEDOUT, "deadline exceeded before the request was sent");
        count_call(call, "too_late", -1);
        end_call(call, &answer);
}

static int64_t attempt_timeout_ms(const struct kube_call *call) {
        const struct kube_request *request = &call->request;
        int64_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : DEFAULT_TIMEOUT_MS;
        int64_t left_ms = end_mono_ms(call) - loop_now_mono_ms(call->api->loop);

        return left_ms < timeout_ms ? left_ms : timeout_ms;
}

static void attempt_call(void *userdata) {
        struct kube_call *call = userdata;
        struct kube_api *api = call->api;
        const struct kube_request *request = &call->request;

        loop_timer_disarm(api->loop, &call->timer);
        if (loop_now_mono_ms(api->loop) >= end_mono_ms(call)) {
                /* As always, the call ends on a later pass of the loop. */
                loop_timer_arm(api->loop, &call->timer, loop_now_mono_ms(api->loop), on_too_late,
                               call);
                return;
        }
        struct kube_credentials credentials = kube_access_credentials(api->config,
                                                                      loop_now_mono_ms(api->loop));
        const char *content_type = request->content_type ? request->content_type
                                                         : "application/json";
        _cleanup_(freep) char *accept_line = xasprintf(
                "Accept: %s", request->accept ? request->accept : "application/json");
        _cleanup_(freep) char *type_line = xasprintf("Content-Type: %s", content_type);
        _cleanup_(freep) char *bearer_line = credentials.bearer
                                                     ? xasprintf("Authorization: Bearer %s",
                                                                 credentials.bearer)
                                                     : NULL;
        enum client client = request->on_data     ? STREAM_CLIENT
                             : request->is_urgent ? URGENT_CLIENT
                                                  : COMMON_CLIENT;
        const char *headers[4] = {accept_line};
        size_t header_count = 1;
        if (call->body)
                headers[header_count++] = type_line;
        if (bearer_line)
                headers[header_count++] = bearer_line;

        call->http = http_start(api->clients[client],
                                &(struct http_request){
                                        .method = request->method,
                                        .url = call->url,
                                        .headers = headers,
                                        .body = call->body,
                                        .body_bytes = request->body_bytes,
                                        .timeout_ms = attempt_timeout_ms(call),
                                        .end_mono_ms = end_mono_ms(call),
                                        .lost_timeout_ms = LOST_TIMEOUT_MS,
                                        .max_body_bytes = request->max_body_bytes > 0
                                                                  ? request->max_body_bytes
                                                                  : DEFAULT_MAX_BODY_BYTES,
                                        .wants_gzip = request->wants_gzip,
                                        .tls = &credentials.tls,
                                        .unix_socket = credentials.unix_socket,
                                        .on_data = request->on_data ? on_http_data : NULL,
                                        .on_done = on_http_done,
                                        .userdata = call,
                                });
        if (bearer_line)
                explicit_bzero(bearer_line, strlen(bearer_line));
}

struct kube_call *kube_start(struct kube_api *api, const struct kube_request *request) {
        assert(request->method && request->path && request->path[0] == '/' && request->on_done);

        struct kube_call *call = call_new(api, request);
        attempt_call(call);
        return call;
}
