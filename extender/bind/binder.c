#include "extender/bind/binder.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extender/bind/bind_request.h"
#include "kube/kube_path.h"

enum {
        STATUS_MAX_BYTES = 64 << 10, /* the API server's answer to a Binding */
        REPLY_MAX_BYTES = 4 << 10,
};

/* One request. Once it is suspended, it belongs to the loop. */
struct bind {
        LIST_ENTRY(bind) link; /* in binder->binds */
        struct binder *binder;
        struct http_exchange *exchange;
        struct bind_request request;
        int64_t begin_ns;
        struct kube_call *call; /* NULL until the loop's next pass */
};

LIST_HEAD(bind_list, bind);

struct binder {
        const struct daemon *daemon;

        pthread_mutex_t lock;   /* guards these three */
        struct bind_list binds; /* suspended binds */
        size_t under_way;
        bool is_draining; /* or stopped */

        /* Only for the loop's thread. */
        void (*on_drained)(void *userdata);
        void *on_drained_userdata;
        bool is_failing; /* which was logged */
        struct health_check *check;
        struct metrics_series *under_way_gauge, *duration;
};

static struct metrics_series *binds_with(const struct binder *binder, const char *result) {
        return metrics_counter(binder->daemon->metrics, "plimsoll_binds_total",
                               "Bind requests by result (--bind).", LABELS("result", result));
}

/* Sets the reply of the exchange: {"Error":@text}. */
static void compose(const struct bind *bind, const char *result, const char *text) {
        struct buf reply = BUF_INIT(REPLY_MAX_BYTES);
        const struct binder *binder = bind->binder;

        json_write_object(&reply, NULL);
        json_write_text(&reply, "Error", text);
        json_write_object_end(&reply);
        http_reply_text(bind->exchange, 200, "application/json", &reply);
        metrics_inc(binds_with(binder, result));
        metrics_observe(binder->duration, (double)(clock_mono_ns() - bind->begin_ns) / 1e9);
        log_debug(MSG("bind"), STR("namespace", bind->request.pod_namespace),
                  STR("pod", bind->request.pod_name), STR("node", bind->request.node),
                  STR("result", result), STR("error", text));
}

/* ---- The loop's side. */

/* The scheduler's events have the error of each pod; the log has the begin and end of an outage.
 * Other errors are about one pod. */
static void note_outage(struct binder *binder, enum kube_outcome outcome, const char *text) {
        bool is_about_pod = outcome == KUBE_NOT_FOUND || outcome == KUBE_CONFLICT ||
                            outcome == KUBE_GONE || outcome == KUBE_INVALID;
        bool is_failing = outcome != KUBE_OK;

        if (is_about_pod || is_failing == binder->is_failing)
                return;
        binder->is_failing = is_failing;
        if (is_failing) {
                log_warn(MSG("cannot bind pods"), STR("error", text));
                health_pass(binder->check, "the last bind failed: %s", text);
        } else {
                log_info(MSG("binds succeed again"));
                health_pass(binder->check, "no failure");
        }
}

/* Returns the exchange to its worker, and frees @bind. */
static void finish_bind(struct bind *bind, const char *result, const char *text) {
        struct binder *binder = bind->binder;

        kube_cancel(TAKE_PTR(bind->call));
        compose(bind, result, text);
        http_resume(bind->exchange);

        (void)pthread_mutex_lock(&binder->lock);
        LIST_REMOVE(bind, link);
        size_t left = --binder->under_way;
        metrics_set(binder->under_way_gauge, (double)left);
        (void)pthread_mutex_unlock(&binder->lock);
        free(bind);
        if (left == 0 && binder->on_drained)
                binder->on_drained(binder->on_drained_userdata);
}

/* 200 without JSON is the answer of a proxy in place of the API server. It means nothing. */
static void on_bind_answer(void *userdata, const struct kube_answer *answer) {
        struct bind *bind = userdata;
        enum kube_outcome outcome = answer->outcome;
        struct error err = answer->err;
        json_auto_t *body = NULL;

        bind->call = NULL;
        if (outcome == KUBE_OK && json_parse(answer->body, answer->body_bytes, &body, &err) < 0) {
                outcome = KUBE_BAD_ANSWER;
                (void)error_wrap(&err, EBADMSG, "the answer of a proxy, not of an API server");
        }
        note_outage(bind->binder, outcome, err.msg);
        finish_bind(bind, outcome == KUBE_OK ? "bound" : kube_outcome_name(outcome), err.msg);
}

static void begin_bind(void *userdata) {
        struct bind *bind = userdata;
        const struct bind_request *request = &bind->request;
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, request->pod_namespace, "pods",
                                                request->pod_name, "/binding");
        /* All four names are validated, so none needs escaping in JSON. */
        _cleanup_(freep) char *body = xasprintf(
                "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"namespace\":\"%s\","
                "\"name\":\"%s\",\"uid\":\"%s\"},\"target\":{\"apiVersion\":\"v1\","
                "\"kind\":\"Node\",\"name\":\"%s\"}}",
                request->pod_namespace, request->pod_name, request->pod_uid, request->node);

        bind->call = kube_start(bind->binder->daemon->api,
                                &(struct kube_request){
                                        .method = "POST",
                                        .path = path,
                                        .resource = "pods/binding",
                                        .body = body,
                                        .body_bytes = strlen(body),
                                        .timeout_ms = BINDER_TIMEOUT_MS,
                                        .max_body_bytes = STATUS_MAX_BYTES,
                                        .on_done = on_bind_answer,
                                        .userdata = bind,
                                });
}

/* ---- The workers' side. */

/* Checks, suspends and queues the request under one lock. Otherwise, binder_stop() would miss a
 * request that is suspended after the check. */
static const char *admit(struct binder *binder, struct bind *bind) {
        const char *refusal = NULL;

        (void)pthread_mutex_lock(&binder->lock);
        if (binder->is_draining) {
                refusal = "the extender is shutting down";
        } else if (binder->under_way >= BINDER_MAX_UNDER_WAY) {
                refusal = "too many binds in progress";
        } else {
                metrics_set(binder->under_way_gauge, (double)++binder->under_way);
                http_suspend(bind->exchange);
                LIST_INSERT_HEAD(&binder->binds, bind, link);
                loop_post(binder->daemon->loop, begin_bind, bind);
        }
        (void)pthread_mutex_unlock(&binder->lock);
        return refusal;
}

int binder_answer(struct binder *binder, struct http_exchange *exchange, struct error *err) {
        struct bind_request request = {0};
        int64_t begin_ns = clock_mono_ns();

        int r = bind_request_parse(&request, exchange->body, exchange->body_bytes, err);
        if (r == -E2BIG || r == -EBADMSG)
                return r;

        struct bind *bind = xcalloc(1, sizeof(*bind));
        *bind = (struct bind){
                .binder = binder,
                .exchange = exchange,
                .request = request,
                .begin_ns = begin_ns,
        };
        const char *refusal = r < 0 ? err->msg : admit(binder, bind);
        if (refusal) {
                compose(bind, r < 0 ? "refused" : "busy", refusal);
                free(bind);
        }
        return 0;
}

/* ---- Begin and end. */

struct binder *binder_new(const struct daemon *daemon) {
        struct binder *binder = xcalloc(1, sizeof(*binder));

        binder->daemon = daemon;
        (void)pthread_mutex_init(&binder->lock, NULL);
        binder->check = health_add(daemon->health, "bind", "not listed yet");
        health_pass(binder->check, "no failure");
        (void)binds_with(binder, "bound");
        binder->under_way_gauge = metrics_gauge(daemon->metrics, "plimsoll_binds_under_way",
                                                "Binds in flight (--bind).", NULL);
        binder->duration = metrics_histogram(daemon->metrics, "plimsoll_bind_duration_seconds",
                                             "Time from a bind's request to its answer (--bind).",
                                             NULL, &metrics_duration_bounds);
        return binder;
}

void binder_free(struct binder *binder) {
        if (!binder)
                return;
        (void)pthread_mutex_destroy(&binder->lock);
        free(binder);
}

void binder_drain(struct binder *binder, void (*on_drained)(void *userdata), void *userdata) {
        (void)pthread_mutex_lock(&binder->lock);
        binder->is_draining = true;
        size_t under_way = binder->under_way;
        (void)pthread_mutex_unlock(&binder->lock);
        if (under_way == 0) {
                on_drained(userdata);
                return;
        }
        binder->on_drained = on_drained;
        binder->on_drained_userdata = userdata;
}

void binder_stop(struct binder *binder) {
        (void)pthread_mutex_lock(&binder->lock);
        binder->is_draining = true;
        (void)pthread_mutex_unlock(&binder->lock);
        binder->on_drained = NULL;
        while (!LIST_EMPTY(&binder->binds))
                finish_bind(LIST_FIRST(&binder->binds), "busy", "the extender is shutting down");
}
