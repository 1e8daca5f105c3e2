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
#include "kube/backoff.h"
#include "kube/kube_path.h"

enum {
        RETRY_FIRST_MS = 50,
        RETRY_MAX_MS = 1000,
        STATUS_MAX_BYTES = 64 << 10, /* the API server's answer to a Binding */
        POD_MAX_BYTES = 4 << 20,
        REPLY_MAX_BYTES = 4 << 10,
};

enum bind_result {
        BIND_BOUND,
        BIND_ALREADY_BOUND, /* as requested, by an attempt whose answer was lost */
        BIND_CONFLICT,
        BIND_NOT_FOUND,
        BIND_FORBIDDEN,
        BIND_INVALID,
        BIND_UNAVAILABLE,
        BIND_REFUSED, /* without a call to the API server */
        BIND_BUSY,
        BIND_RESULT_COUNT,
};

static const char *const result_names[] = {
        "bound",   "already_bound", "conflict", "not_found", "forbidden",
        "invalid", "unavailable",   "refused",  "busy",
};

struct bind;
/* @body: NULL: the answer is not JSON */
typedef void bind_done_fn(struct bind *bind, const struct kube_answer *answer, const json_t *body);

/* One request. Once it is suspended, it belongs to the loop. */
struct bind {
        LIST_ENTRY(bind) link; /* in binder->binds */
        struct binder *binder;
        struct http_exchange *exchange;
        struct bind_request request;
        int64_t begin_ns;
        int64_t give_up_mono_ms;
        struct kube_call *call; /* NULL between attempts */
        bind_done_fn *on_done;  /* of the call */
        struct loop_timer retry_timer, deadline_timer;
        struct backoff backoff;
        struct error trouble; /* the failure of the last attempt */
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
        enum bind_result outage; /* the failure that was logged; BIND_BOUND: none */
        struct health_check *check;
        struct metrics_series *results[BIND_RESULT_COUNT], *under_way_gauge, *duration;
};

static bool is_success(enum bind_result result) {
        return result == BIND_BOUND || result == BIND_ALREADY_BOUND;
}

/* Sets the reply of the exchange: {"Error":@text}. */
static void compose(const struct bind *bind, enum bind_result result, const char *text) {
        _cleanup_(buf_done) struct buf reply = BUF_INIT(REPLY_MAX_BYTES);
        const struct binder *binder = bind->binder;

        json_write_object(&reply, NULL);
        json_write_text(&reply, "Error", text);
        json_write_object_end(&reply);
        daemon_reply_text(bind->exchange, 200, "application/json", reply.data, reply.len);
        metrics_inc(binder->results[result]);
        metrics_observe(binder->duration, (double)(clock_mono_ns() - bind->begin_ns) / 1e9);
        log_debug(MSG("bind"), STR("namespace", bind->request.pod_namespace),
                  STR("pod", bind->request.pod_name), STR("node", bind->request.node),
                  STR("result", result_names[result]), STR("error", text));
}

/* ---- The loop's side. */

/* The scheduler's events have the error of each pod; the log has the begin and end of an outage. */
static void note_outage(struct binder *binder, enum bind_result result, const char *text) {
        bool is_outage = result == BIND_FORBIDDEN || result == BIND_UNAVAILABLE;

        if (is_outage ? result == binder->outage
                      : !is_success(result) || binder->outage == BIND_BOUND)
                return;
        binder->outage = is_outage ? result : BIND_BOUND;
        if (result == BIND_FORBIDDEN)
                log_warn(MSG("binding is forbidden; the service account needs create on "
                             "pods/binding and get on pods (deploy/extender-bind)"),
                         STR("error", text));
        else if (is_outage)
                log_warn(MSG("cannot bind pods"), STR("error", text));
        else
                log_info(MSG("binds succeed again"));
        if (is_outage)
                health_pass(binder->check, "the last bind failed: %s", text);
        else
                health_pass(binder->check, "no failure");
}

/* Returns the exchange to its worker, and frees @bind. */
static void finish_bind(struct bind *bind, enum bind_result result, const char *text) {
        struct binder *binder = bind->binder;

        loop_timer_disarm(binder->daemon->loop, &bind->retry_timer);
        loop_timer_disarm(binder->daemon->loop, &bind->deadline_timer);
        kube_cancel(TAKE_PTR(bind->call));
        note_outage(binder, result, text);
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

static void on_bind_deadline(void *userdata) {
        struct bind *bind = userdata;
        char text[ERROR_MSG_MAX + 64];

        (void)snprintf(text, sizeof(text), "not bound within %d s%s%s", BINDER_TIMEOUT_MS / 1000,
                       bind->trouble.code ? ": " : "", bind->trouble.msg);
        finish_bind(bind, BIND_UNAVAILABLE, text);
}

/* Call @again after a pause, if there is enough time left. */
static void retry(struct bind *bind, const struct kube_answer *answer, loop_timer_fn *again) {
        struct loop *loop = bind->binder->daemon->loop;
        int64_t now_mono_ms = loop_now_mono_ms(loop);
        int64_t pause_ms = backoff_next_ms(&bind->backoff, now_mono_ms);

        bind->trouble = answer->err;
        if (answer->retry_after_ms > pause_ms)
                pause_ms = answer->retry_after_ms;
        if (now_mono_ms + pause_ms >= bind->give_up_mono_ms)
                finish_bind(bind, BIND_UNAVAILABLE, answer->err.msg);
        else
                loop_timer_arm(loop, &bind->retry_timer, now_mono_ms + pause_ms, again, bind);
}

/* 200 without JSON is the answer of a proxy in place of the API server. It means nothing. */
static void on_answer(void *userdata, const struct kube_answer *answer) {
        struct bind *bind = userdata;
        struct kube_answer checked = *answer;
        json_auto_t *body = NULL;

        bind->call = NULL;
        if (json_parse(answer->body, answer->body_bytes, &body, NULL) < 0 &&
            answer->outcome == KUBE_OK) {
                checked.outcome = KUBE_BAD_ANSWER;
                (void)error_set(&checked.err, EBADMSG,
                                "%d without JSON: the answer of a proxy, not of an API server",
                                answer->status);
        }
        bind->on_done(bind, &checked, body);
}

static void call(struct bind *bind, struct kube_request *request, bind_done_fn *on_done) {
        request->give_up_mono_ms = bind->give_up_mono_ms;
        /* After an attempt that hangs, there is time for another one. */
        request->timeout_ms = BINDER_TIMEOUT_MS / 2;
        request->on_done = on_answer;
        request->userdata = bind;
        bind->on_done = on_done;
        bind->call = kube_start(bind->binder->daemon->api, request);
}

static void read_bound_pod(void *userdata);

static void on_pod_of_bind(struct bind *bind, const struct kube_answer *answer, const json_t *pod) {
        const struct bind_request *request = &bind->request;
        char text[ERROR_MSG_MAX + BIND_NAME_MAX];

        if (answer->outcome == KUBE_NOT_FOUND) {
                finish_bind(bind, BIND_NOT_FOUND, answer->err.msg);
                return;
        }
        if (answer->outcome == KUBE_FORBIDDEN) {
                finish_bind(bind, BIND_FORBIDDEN, answer->err.msg);
                return;
        }
        if (answer->outcome != KUBE_OK) {
                retry(bind, answer, read_bound_pod);
                return;
        }
        const char *uid = json_string_at(pod, "metadata", "uid", NULL);
        const char *node = json_string_at(pod, "spec", "nodeName", NULL);
        if (!uid || strcmp(uid, request->pod_uid) != 0) {
                finish_bind(bind, BIND_CONFLICT, "the pod was recreated and has another UID");
        } else if (!node || node[0] == '\0') {
                finish_bind(bind, BIND_CONFLICT, bind->trouble.msg);
        } else if (strcmp(node, request->node) != 0) {
                (void)snprintf(text, sizeof(text), "the pod is already bound to %.*s",
                               BIND_NAME_MAX, node);
                finish_bind(bind, BIND_CONFLICT, text);
        } else {
                finish_bind(bind, BIND_ALREADY_BOUND, "");
        }
}

/* After a conflict, read the pod. */
static void read_bound_pod(void *userdata) {
        struct bind *bind = userdata;
        const struct bind_request *request = &bind->request;
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, request->pod_namespace, "pods",
                                                request->pod_name, "");

        call(bind,
             &(struct kube_request){
                     .method = "GET",
                     .path = path,
                     .resource = "pods",
                     .max_body_bytes = POD_MAX_BYTES,
             },
             on_pod_of_bind);
}

/* 403 may also mean that the namespace is being deleted, which has nothing to do with RBAC. */
static bool is_namespace_going(const struct kube_answer *answer, const json_t *status) {
        return answer->outcome == KUBE_FORBIDDEN &&
               json_find_at("NamespaceTerminating", json_at(status, "details", "causes", NULL),
                            "reason", NULL);
}

static void attempt_bind(void *userdata);

static void on_bind_answer(struct bind *bind, const struct kube_answer *answer,
                           const json_t *status) {
        switch (answer->outcome) {
        case KUBE_OK:
                finish_bind(bind, BIND_BOUND, "");
                break;
        case KUBE_CONFLICT:
                bind->trouble = answer->err;
                read_bound_pod(bind);
                break;
        case KUBE_NOT_FOUND:
                finish_bind(bind, BIND_NOT_FOUND, answer->err.msg);
                break;
        case KUBE_UNAUTHORIZED:
        case KUBE_FORBIDDEN:
                finish_bind(bind,
                            is_namespace_going(answer, status) ? BIND_NOT_FOUND : BIND_FORBIDDEN,
                            answer->err.msg);
                break;
        case KUBE_GONE:
        case KUBE_INVALID:
                finish_bind(bind, BIND_INVALID, answer->err.msg);
                break;
        case KUBE_THROTTLED:
        case KUBE_UNAVAILABLE:
        case KUBE_BAD_ANSWER: /* perhaps applied: the next attempt will show */
                retry(bind, answer, attempt_bind);
                break;
        }
}

static void attempt_bind(void *userdata) {
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

        call(bind,
             &(struct kube_request){
                     .method = "POST",
                     .path = path,
                     .resource = "pods/binding",
                     .body = body,
                     .body_bytes = strlen(body),
                     .max_body_bytes = STATUS_MAX_BYTES,
             },
             on_bind_answer);
}

static void begin_bind(void *userdata) {
        struct bind *bind = userdata;
        struct binder *binder = bind->binder;

        loop_timer_arm(binder->daemon->loop, &bind->deadline_timer, bind->give_up_mono_ms,
                       on_bind_deadline, bind);
        attempt_bind(bind);
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
                .give_up_mono_ms = clock_mono_ms() + BINDER_TIMEOUT_MS,
                .backoff = {.first_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS},
        };
        const char *refusal = r < 0 ? err->msg : admit(binder, bind);
        if (refusal) {
                compose(bind, r < 0 ? BIND_REFUSED : BIND_BUSY, refusal);
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
        for (size_t i = 0; i < BIND_RESULT_COUNT; i++)
                binder->results[i] = metrics_counter(daemon->metrics, "plimsoll_binds_total",
                                                     "Bind requests by result (--bind).",
                                                     LABELS("result", result_names[i]));
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
                finish_bind(LIST_FIRST(&binder->binds), BIND_BUSY, "the extender is shutting down");
}
