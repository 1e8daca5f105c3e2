#include "controller/source/prometheus/prometheus_api.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/node/target_url.h"

enum {
        BODY_MAX_BYTES = 64 << 10, /* the longest percent-encoded query and its parameters */
        CONNECT_TIMEOUT_MS = 3000,
        STATUS_GATEWAY_TIMEOUT = 504, /* a proxy gave up waiting for the query */
};

struct prometheus_api {
        const struct source *source;
        size_t address_len; /* without slashes at its end */
        struct credentials credentials;
        struct metrics_series *asked, *duration;
};

struct prometheus_call {
        struct prometheus_api *api;
        struct http_call *http;
        struct loop_timer failed; /* armed if the request could not be sent */
        struct prometheus_answer answer;
        prometheus_answer_fn *on_answer;
        void *userdata;
};

int prometheus_address_check(const char *address, struct error *err) {
        if (target_url_has_user(address))
                return error_set(err, EINVAL,
                                 "must not contain a user or password, because URLs are logged");
        if (!target_url_is_valid(address) || strpbrk(address, "?#"))
                return error_set(err, EINVAL,
                                 "expected http://... or https://... with a host, and without a "
                                 "query, got \"%s\"",
                                 address);
        return 0;
}

static struct metrics_series *queries_with(struct metrics *metrics, const char *result) {
        return metrics_counter(metrics, "plimsoll_prometheus_queries_total",
                               "Queries to Prometheus by result.", LABELS("result", result));
}

struct prometheus_api *prometheus_api_new(const struct source *source) {
        const struct source_spec *spec = source->spec;
        struct prometheus_api *api = xcalloc(1, sizeof(*api));

        api->source = source;
        api->address_len = strlen(spec->url);
        while (spec->url[api->address_len - 1] == '/')
                api->address_len--;
        credentials_init(&api->credentials, &spec->credentials);
        api->asked = queries_with(source->metrics, "ok");
        api->duration = metrics_histogram(
                source->metrics, "plimsoll_prometheus_query_duration_seconds",
                "Duration of one query to Prometheus.", NULL, &metrics_duration_bounds);
        return api;
}

void prometheus_api_free(struct prometheus_api *api) {
        credentials_done(&api->credentials);
        free(api);
}

static void query_call_free(struct prometheus_call *call) {
        loop_timer_disarm(call->api->source->loop, &call->failed);
        free(call);
}

/* The last thing that a call does. */
static void finish_query(struct prometheus_call *call) {
        const struct prometheus_api *api = call->api;
        const char *failure = call->answer.failure;

        metrics_inc(failure ? queries_with(api->source->metrics, failure) : api->asked);
        call->on_answer(call->userdata, &call->answer);
        query_call_free(call);
}

static void on_failed(void *userdata) {
        finish_query(userdata);
}

/* The status is not 200. The body of a failed query (400, 422, 503) has the reason. */
static void take_status(struct prometheus_answer *answer, const struct http_response *response) {
        int r = prometheus_reply_open(response->body, response->body_bytes, &answer->reply,
                                      &answer->err);

        answer->failure = http_status_reason(response->status);
        answer->is_down = response->status != STATUS_GATEWAY_TIMEOUT;
        if (r == -EREMOTEIO) {
                answer->failure = "query";
                answer->is_down = false;
                (void)error_wrap(&answer->err, answer->err.code, "HTTP status %d",
                                 response->status);
                return;
        }
        (void)error_set(&answer->err, EREMOTEIO, "HTTP status %d%s", response->status,
                        response->status / 100 == 3 ? "; redirects are not followed" : "");
}

static void on_query_done(void *userdata, const struct http_response *response) {
        struct prometheus_call *call = userdata;
        struct prometheus_api *api = call->api;
        struct prometheus_answer *answer = &call->answer;

        call->http = NULL;
        metrics_observe(api->duration, (double)response->duration_ms / 1000);
        if (response->failure != HTTP_OK) {
                answer->failure = http_failure_name(response->failure);
                answer->is_down = response->failure != HTTP_TOO_LARGE &&
                                  response->failure != HTTP_TIMEOUT;
                answer->err = response->err;
        } else if (response->status / 100 != 2) {
                take_status(answer, response);
        } else {
                int r = prometheus_reply_open(response->body, response->body_bytes, &answer->reply,
                                              &answer->err);
                answer->failure = r == 0 ? NULL : r == -EREMOTEIO ? "query" : "bad_reply";
                answer->is_down = r == -EBADMSG;
        }
        finish_query(call);
}

static void fail_soon(struct prometheus_call *call, const char *reason) {
        struct loop *loop = call->api->source->loop;

        call->answer.failure = reason;
        call->answer.is_down = true;
        loop_timer_arm(loop, &call->failed, loop_now_mono_ms(loop), on_failed, call);
}

struct prometheus_call *prometheus_ask(struct prometheus_api *api, const char *query,
                                       prometheus_answer_fn *on_answer, void *userdata) {
        struct prometheus_call *call = xcalloc(1, sizeof(*call));
        _cleanup_(buf_done) struct buf form = BUF_INIT(BODY_MAX_BYTES);
        const char *headers[CREDENTIALS_MAX_HEADERS + 4] = {
                "Accept: application/json", "Content-Type: application/x-www-form-urlencoded"};

        call->api = api;
        call->on_answer = on_answer;
        call->userdata = userdata;
        if (credentials_refresh(&api->credentials, loop_now_mono_ms(api->source->loop),
                                &call->answer.err) < 0) {
                fail_soon(call, "credentials");
                return call;
        }
        _cleanup_(freep) char *url = xasprintf("%.*s/api/v1/query", (int)api->address_len,
                                               api->source->spec->url);
        buf_puts(&form, "query=");
        buf_percent_encode(&form, query);
        /* The server's timeout comes first: its reply names the query that was too slow, and it
         * does not continue a query that nobody waits for. */
        buf_printf(&form, "&timeout=%.3f", (double)source_timeout_ms(api->source) * 0.9 / 1000);
        credentials_put_headers(&api->credentials, headers);
        call->http = http_start(api->source->client,
                                &(struct http_request){
                                        .method = "POST",
                                        .url = url,
                                        .headers = headers,
                                        .body = form.data,
                                        .body_bytes = form.len,
                                        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                        .timeout_ms = source_timeout_ms(api->source),
                                        .max_body_bytes = PROMETHEUS_MAX_REPLY_BYTES,
                                        .wants_gzip = true,
                                        .basic_auth = api->credentials.basic_auth,
                                        .tls = &api->credentials.tls,
                                        .on_done = on_query_done,
                                        .userdata = call,
                                });
        return call;
}

void prometheus_cancel(struct prometheus_call *call) {
        if (!call)
                return;
        http_cancel(call->http);
        query_call_free(call);
}
