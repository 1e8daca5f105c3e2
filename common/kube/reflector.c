#include "kube/reflector.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "codec/json.h"
#include "kube/backoff.h"
#include "kube/delivery.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"
#include "kube/reflector_request.h"
#include "kube/watch_stream.h"

enum {
        DEFAULT_PAGE_LIMIT = 100,
        PAGE_LIMIT_MAX = 10000,
        PAGE_GROWTH = 4,
        PAGE_MAX_BYTES = 16 << 20,
        PAGE_TIMEOUT_MS = 60000,

        /* timeoutSeconds, as in client-go; random, so that clients do not reconnect together. */
        WATCH_MIN_S = 300,
        WATCH_MAX_S = 600,
        WATCH_GRACE_S = 10,
        /* TCP notices that the server's machine is gone, but not that the server hangs, or that a
         * proxy has lost it. A healthy server sends a bookmark every minute. */
        WATCH_IDLE_MS = 180000,
        WATCH_SHORT_MS = 1000,   /* a shorter watch is a failure, to avoid a busy loop */
        WATCH_ANSWER_MS = 30000, /* twice as long as a busy server queues requests */
        WATCH_FRUITLESS_MAX = 3, /* in a row without an event; then relist */
        PROOF_MS = 8000, /* after this time, an open watch is healthy, and an unanswered call is
                            trouble */
        LOOK_MS = 1000,  /* time between checks after that */

        /* As in client-go, except the maximum: 30 s would delay the first events after an outage.
         */
        BACKOFF_FIRST_MS = 800,
        BACKOFF_MAX_MS = 10000,
        BACKOFF_FORGET_MS = 120000,
        ABSENT_RETRY_MS = 5000, /* if the resource is not served (yet) */
};

/* The body of a watch is unlimited, but its lines and its duration are limited. */
static const size_t watch_max_body_bytes = SIZE_MAX >> 8;

/*
 * In a *_LATER state the timer ends a pause. In the others a call is in progress, and the timer
 * looks at it: a call that is answered after PROOF_MS is open.
 *
 *   LIST_LATER                   pause over   -> LIST_SENT
 *   LIST_SENT                    look         -> LIST_OPEN
 *   LIST_SENT, LIST_OPEN         page         -> LIST_SENT, or WATCH_SENT after the last one
 *                                failure      -> LIST_LATER
 *   WATCH_LATER                  pause over   -> WATCH_SENT
 *   WATCH_SENT                   look         -> WATCH_OPEN
 *   WATCH_SENT, WATCH_OPEN       event        -> WATCH_LIVE
 *   WATCH_SENT, _OPEN or _LIVE   end          -> LIST_LATER or WATCH_LATER, see `endings`
 */
enum reflector_state {
        LIST_LATER,
        LIST_SENT,
        LIST_OPEN,
        WATCH_LATER,
        WATCH_SENT,
        WATCH_OPEN,
        WATCH_LIVE,
};

/* Of which call the current trouble is. */
enum trouble_of { TROUBLE_NONE, TROUBLE_LIST, TROUBLE_WATCH };

struct reflector {
        struct loop *loop;
        struct kube_api *api;
        struct metrics *metrics;
        struct reflector_spec spec;

        enum reflector_state state;
        struct kube_call *call; /* of the current page or watch */
        struct loop_timer timer;
        struct backoff backoff;
        bool was_unreachable; /* at the last failure */
        struct delivery delivery;
        char *resource_version; /* the start of the next watch; NULL: unknown */
        enum { FIRST_LIST_AWAITED, FIRST_LIST_REFUSED, FIRST_LIST_DONE } first_list;

        char *continue_token;
        size_t page_limit; /* halved if pages are too large or slow; see grow_pages() */
        size_t pages;      /* of the current list */

        struct watch_stream stream;
        int64_t watch_started_mono_ms, last_data_mono_ms;
        struct error watch_error; /* of an ERROR event; -ESTALE: the resourceVersion expired */
        unsigned fruitless_watches;
        unsigned expired_watches; /* in a row, each after a complete list */

        char trouble[ERROR_MSG_MAX];
        enum trouble_of trouble_of; /* as logged, as is the reason: a static text */
        const char *trouble_reason;
};

static void reflector_act(void *userdata);
static void start_watch(struct reflector *r);

bool reflector_is_synced(const struct reflector *reflector) {
        return reflector->first_list == FIRST_LIST_DONE;
}

bool reflector_is_awaited(const struct reflector *reflector) {
        return reflector->first_list == FIRST_LIST_AWAITED;
}

const char *reflector_trouble(const struct reflector *reflector) {
        return reflector->trouble;
}

/* Counting */

static void reflector_count(struct reflector *r, const char *name, const char *help,
                            const char *label, const char *value) {
        metrics_inc(metrics_counter(r->metrics, name, help,
                                    LABELS("resource", r->spec.name, label, value)));
}

static void count_list_page(struct reflector *r, const char *result) {
        reflector_count(r, "plimsoll_list_total", "List requests (one per page) by result.",
                        "result", result);
}

static void count_restart(struct reflector *r, const char *reason) {
        reflector_count(r, "plimsoll_watch_restarts_total", "Ended watches by reason.", "reason",
                        reason);
}

/* Errors are logged when they begin, when their reason changes and when they end. */

static void reflector_set_trouble(struct reflector *r, const char *reason,
                                  const struct error *err) {
        enum trouble_of of = r->state < WATCH_LATER ? TROUBLE_LIST : TROUBLE_WATCH;
        const char *step = of == TROUBLE_LIST ? "list" : "watch";

        (void)snprintf(r->trouble, sizeof(r->trouble), "%s: %.*s", step,
                       (int)sizeof(r->trouble) - 16, err->msg);
        if (r->spec.on_trouble)
                r->spec.on_trouble(r->spec.userdata);
        if (r->trouble_of == of && strcmp(r->trouble_reason, reason) == 0)
                return;
        log_warn(MSG("list/watch failed, retrying"), STR("resource", r->spec.name),
                 STR("step", step), STR("reason", reason), ERR(err));
        r->trouble_of = of;
        r->trouble_reason = reason;
}

static void reflector_clear_trouble(struct reflector *r) {
        if (r->trouble_of != TROUBLE_NONE)
                log_info(MSG("list/watch recovered"), STR("resource", r->spec.name));
        bool is_change = r->trouble[0];
        r->trouble_of = TROUBLE_NONE;
        r->trouble[0] = '\0';
        if (is_change && r->spec.on_trouble)
                r->spec.on_trouble(r->spec.userdata);
}

/* Pauses */

static void act_after(struct reflector *r, int64_t ms) {
        loop_timer_arm(r->loop, &r->timer, loop_now_mono_ms(r->loop) + ms, reflector_act, r);
}

static void pause_after(struct reflector *r, const struct kube_answer *answer) {
        bool is_unreachable = answer->outcome == KUBE_UNAVAILABLE;

        if (answer->outcome == KUBE_NOT_FOUND) {
                act_after(r, ABSENT_RETRY_MS / 2 + random_below(ABSENT_RETRY_MS / 2));
                return;
        }
        /* Reset the backoff when the server is reachable again. Just after its start, it answers
         * 403 until RBAC is loaded, and 410 for old resource versions. */
        if (r->was_unreachable && !is_unreachable)
                r->backoff.failures = 0;
        r->was_unreachable = is_unreachable;
        int64_t ms = backoff_next_ms(&r->backoff, loop_now_mono_ms(r->loop));
        if (answer->retry_after_ms > ms)
                ms = answer->retry_after_ms;
        act_after(r, ms);
}

static void replace(char **place, const char *text) {
        char *copy = xstrdup_or_null(text);

        free(*place);
        *place = copy;
}

/* The list */

static void on_page(void *userdata, const struct kube_answer *answer);

static void request_page(struct reflector *r) {
        const struct reflector_page page = {
                .limit = r->page_limit,
                .continue_token = r->continue_token,
                /* As old as the known state: any replica of the server can answer. */
                .not_older_than = r->resource_version,
        };
        _cleanup_(freep) char *path = reflector_list_path(&r->spec, &page);

        r->state = LIST_SENT;
        r->call = kube_start(r->api, &(struct kube_request){
                                             .method = "GET",
                                             .path = path,
                                             .resource = r->spec.name,
                                             .accept = r->spec.proto ? KUBE_ACCEPT_PROTO : NULL,
                                             .timeout_ms = PAGE_TIMEOUT_MS,
                                             .max_body_bytes = PAGE_MAX_BYTES,
                                             .wants_gzip = true,
                                             .on_done = on_page,
                                             .userdata = r,
                                     });
        act_after(r, PROOF_MS);
}

static void start_list(struct reflector *r) {
        replace(&r->continue_token, NULL);
        r->pages = 0;
        delivery_begin_list(&r->delivery);
        request_page(r);
}

static void finish_list(struct reflector *r, const char *resource_version, bool is_proto) {
        delivery_end_list(&r->delivery);
        size_t count = delivery_count(&r->delivery);
        replace(&r->resource_version, resource_version);
        r->page_limit = size_max(r->page_limit, r->spec.page_limit);
        r->fruitless_watches = 0;
        if (r->trouble_of != TROUBLE_WATCH)
                reflector_clear_trouble(r);
        if (!reflector_is_synced(r))
                log_info(MSG("initial list complete"), STR("resource", r->spec.name),
                         INT("objects", count), STR("encoding", is_proto ? "protobuf" : "json"));
        r->first_list = FIRST_LIST_DONE;
        if (r->spec.on_synced)
                r->spec.on_synced(r->spec.userdata, count);
        start_watch(r);
}

/*
 * A continue token expires if a list takes longer than etcd keeps a revision, about five minutes.
 * The next list would take as long. client-go then lists without a limit; we use larger pages,
 * within PAGE_MAX_BYTES, for this list and later ones.
 */
static void grow_pages(struct reflector *r) {
        r->page_limit = size_min(r->page_limit * PAGE_GROWTH, PAGE_LIMIT_MAX);
}

static void on_list_failure(struct reflector *r, const struct kube_answer *answer) {
        bool is_refused = answer->outcome == KUBE_FORBIDDEN || answer->outcome == KUBE_NOT_FOUND;
        bool is_version_refused = answer->outcome == KUBE_GONE || answer->outcome == KUBE_INVALID ||
                                  answer->status == 504;

        count_list_page(r, kube_outcome_name(answer->outcome));
        if (!reflector_is_synced(r))
                r->first_list = is_refused ? FIRST_LIST_REFUSED : FIRST_LIST_AWAITED;
        if (r->resource_version && !r->continue_token && is_version_refused) {
                /* Compacted, or "Too large resource version" from a slow replica. */
                replace(&r->resource_version, NULL);
                start_list(r);
                return;
        }
        /* Smaller pages do not help if the server does not answer at all. */
        if (answer->failure == HTTP_TOO_LARGE ||
            (answer->failure == HTTP_TIMEOUT && r->state == LIST_OPEN))
                r->page_limit = size_max(r->page_limit / 2, 1);
        else if (r->continue_token && answer->outcome == KUBE_GONE)
                grow_pages(r);
        reflector_set_trouble(r, kube_outcome_name(answer->outcome), &answer->err);
        r->state = LIST_LATER;
        pause_after(r, answer);
}

static void on_listed_item(void *userdata, const char *text, size_t len) {
        struct reflector *r = userdata;

        delivery_put(&r->delivery, REFLECTOR_PRESENT, text, len);
}

static void on_page(void *userdata, const struct kube_answer *answer) {
        struct reflector *r = userdata;
        _cleanup_(list_page_done) struct list_page page = {0};
        struct kube_answer bad = *answer;

        r->call = NULL;
        loop_timer_disarm(r->loop, &r->timer);
        if (answer->outcome != KUBE_OK) {
                on_list_failure(r, answer);
                return;
        }
        int code = list_page_parse(answer->body, answer->body_bytes, r->spec.proto, on_listed_item,
                                   r, &page, &bad.err);
        if (code == 0 && page.continue_token)
                code = list_page_check_end(++r->pages, r->page_limit, &bad.err);
        if (code < 0) {
                bad.outcome = KUBE_BAD_ANSWER;
                on_list_failure(r, &bad);
                return;
        }
        count_list_page(r, "ok");
        if (page.continue_token) {
                replace(&r->continue_token, page.continue_token);
                request_page(r);
        } else {
                finish_list(r, page.resource_version,
                            r->spec.proto && kube_proto_is(answer->body, answer->body_bytes));
        }
}

/* The watch */

static void read_watch_error(struct reflector *r, const struct watch_event *event) {
        json_auto_t *status = NULL;

        bool is_read = json_parse(event->object, event->object_bytes, &status, NULL) == 0;
        json_int_t code = json_int_at(0, status, "code", NULL);
        const char *message = json_string_at(status, "message", NULL);
        bool is_expired = code == 410 || json_is_at("Expired", status, "reason", NULL) ||
                          json_is_at("Gone", status, "reason", NULL);
        (void)error_set(&r->watch_error, is_expired ? ESTALE : EIO, "%lld %s", (long long)code,
                        message   ? message
                        : is_read ? "error event"
                                  : "error event that cannot be read");
}

static bool on_watch_event(void *userdata, const struct watch_event *event) {
        static const enum reflector_event events[] = {[WATCH_ADDED] = REFLECTOR_APPEARED,
                                                      [WATCH_MODIFIED] = REFLECTOR_PRESENT,
                                                      [WATCH_DELETED] = REFLECTOR_DELETED};
        struct reflector *r = userdata;

        metrics_inc(r->delivery.events[event->type]);
        if (event->type == WATCH_ERROR) {
                read_watch_error(r, event);
                return false;
        }
        r->state = WATCH_LIVE;
        r->expired_watches = 0;
        r->fruitless_watches = 0;
        if (event->type != WATCH_BOOKMARK)
                delivery_put(&r->delivery, events[event->type], event->object, event->object_bytes);
        replace(&r->resource_version, event->resource_version);
        return true;
}

static bool on_watch_data(void *userdata, const char *data, size_t len) {
        struct reflector *r = userdata;

        r->last_data_mono_ms = loop_now_mono_ms(r->loop);
        bool goes_on = watch_stream_feed(&r->stream, data, len) == 0;
        if (r->state == WATCH_LIVE)
                reflector_clear_trouble(r);
        (void)delivery_count(&r->delivery);
        return goes_on;
}

/* How a watch ends. */
enum ending {
        ENDED_EXPIRED,   /* its resourceVersion is too old */
        ENDED_USELESS,   /* again and again, even after complete lists */
        ENDED_ERROR,     /* with an ERROR event */
        ENDED_MALFORMED, /* with a malformed event */
        ENDED_SHORT,     /* early, or before it was open */
        ENDED_EMPTY,     /* early again and again */
        ENDED_EOF,       /* normally */
        ENDED_IDLE,
        ENDED_RESET,       /* after it was open for a while */
        ENDED_RESET_EARLY, /* pause, for a server that resets every connection */
        ENDED_BUSY,        /* 504: the server has not reached this resourceVersion yet */
        ENDED_INVALID,
        ENDED_REFUSED,
};

static const struct {
        const char *reason; /* for metrics and logs; NULL: the outcome of the answer */
        bool is_trouble;
        bool is_at_once;   /* continue without a pause */
        bool is_fruitless; /* without an event, the resourceVersion or a proxy may be the cause */
        bool must_list;
} endings[] = {
        [ENDED_EXPIRED] = {"expired", .must_list = true},
        [ENDED_USELESS] = {"expired", .must_list = true, .is_trouble = true},
        [ENDED_ERROR] = {"error", .is_trouble = true, .is_fruitless = true},
        [ENDED_MALFORMED] = {"malformed", .is_trouble = true, .is_fruitless = true},
        [ENDED_SHORT] = {"short", .is_fruitless = true},
        [ENDED_EMPTY] = {"short", .is_trouble = true, .is_fruitless = true},
        [ENDED_EOF] = {"eof", .is_at_once = true, .is_fruitless = true},
        [ENDED_IDLE] = {"idle", .is_at_once = true, .is_fruitless = true},
        [ENDED_RESET] = {"reset", .is_at_once = true},
        [ENDED_RESET_EARLY] = {"reset"},
        [ENDED_BUSY] = {NULL, .is_trouble = true, .is_fruitless = true},
        [ENDED_INVALID] = {NULL, .is_trouble = true, .must_list = true},
        [ENDED_REFUSED] = {NULL, .is_trouble = true},
};

static enum ending ending_of(const struct reflector *r, const struct kube_answer *answer) {
        int64_t lived_ms = loop_now_mono_ms(r->loop) - r->watch_started_mono_ms;
        bool was_open = r->state != WATCH_SENT;

        if (r->watch_error.code == -ESTALE || answer->outcome == KUBE_GONE)
                return r->expired_watches < WATCH_FRUITLESS_MAX ? ENDED_EXPIRED : ENDED_USELESS;
        if (r->watch_error.code)
                return ENDED_ERROR;
        if (r->stream.failure.code)
                return ENDED_MALFORMED;
        if (answer->outcome == KUBE_OK && !was_open &&
            r->fruitless_watches >= WATCH_FRUITLESS_MAX - 1)
                return ENDED_EMPTY;
        if (answer->outcome == KUBE_OK)
                return lived_ms < WATCH_SHORT_MS || !was_open ? ENDED_SHORT : ENDED_EOF;
        if (answer->failure == HTTP_TIMEOUT && was_open)
                return ENDED_IDLE;
        if (answer->failure == HTTP_RESET && was_open)
                return lived_ms >= PROOF_MS ? ENDED_RESET : ENDED_RESET_EARLY;
        if (answer->outcome == KUBE_INVALID)
                return ENDED_INVALID;
        return answer->status == 504 ? ENDED_BUSY : ENDED_REFUSED;
}

static const struct error *ending_error(const struct reflector *r,
                                        const struct kube_answer *answer) {
        static const struct error ended_empty = {-EIO, "ended before the first event"};

        if (r->watch_error.code)
                return &r->watch_error;
        if (r->stream.failure.code)
                return &r->stream.failure;
        return answer->outcome == KUBE_OK ? &ended_empty : &answer->err;
}

static void on_watch_done(void *userdata, const struct kube_answer *answer) {
        struct reflector *r = userdata;
        enum ending ending = ending_of(r, answer);
        const char *reason = endings[ending].reason ? endings[ending].reason
                                                    : kube_outcome_name(answer->outcome);

        r->call = NULL;
        r->expired_watches += ending == ENDED_EXPIRED || ending == ENDED_USELESS;
        loop_timer_disarm(r->loop, &r->timer);
        count_restart(r, reason);
        if (endings[ending].is_trouble)
                reflector_set_trouble(r, reason, ending_error(r, answer));
        if (endings[ending].is_fruitless && r->state != WATCH_LIVE)
                r->fruitless_watches++;
        r->state = endings[ending].must_list || r->fruitless_watches >= WATCH_FRUITLESS_MAX
                           ? LIST_LATER
                           : WATCH_LATER;
        watch_stream_done(&r->stream);
        if (endings[ending].is_at_once)
                reflector_act(r);
        else
                pause_after(r, answer);
}

static void start_watch(struct reflector *r) {
        int64_t timeout_s = WATCH_MIN_S + random_below(WATCH_MAX_S - WATCH_MIN_S + 1);
        _cleanup_(freep) char *path = reflector_watch_path(&r->spec, r->resource_version,
                                                           timeout_s);

        watch_stream_init(&r->stream, r->spec.proto, WATCH_LINE_MAX_BYTES, on_watch_event, r);
        r->watch_started_mono_ms = r->last_data_mono_ms = loop_now_mono_ms(r->loop);
        r->state = WATCH_SENT;
        r->watch_error = ERROR_NULL;
        /* No gzip: servers send some watches as several gzip members, which curl does not support.
         */
        r->call = kube_start(r->api, &(struct kube_request){
                                             .method = "GET",
                                             .path = path,
                                             .resource = r->spec.name,
                                             .accept = r->spec.proto ? KUBE_ACCEPT_PROTO : NULL,
                                             .timeout_ms = (timeout_s + WATCH_GRACE_S) * MS_PER_S,
                                             .max_body_bytes = watch_max_body_bytes,
                                             .on_data = on_watch_data,
                                             .on_done = on_watch_done,
                                             .userdata = r,
                                     });
        act_after(r, PROOF_MS);
}

static void end_silent_watch(struct reflector *r, const char *what, int64_t silent_ms) {
        struct kube_answer answer = {
                .outcome = KUBE_UNAVAILABLE,
                .failure = HTTP_TIMEOUT,
                .retry_after_ms = -1,
        };

        (void)error_set(&answer.err, ETIMEDOUT, "no %s for %lld ms", what, (long long)silent_ms);
        kube_cancel(r->call);
        on_watch_done(r, &answer);
}

static void look_at_silence(struct reflector *r) {
        int64_t silent_ms = loop_now_mono_ms(r->loop) - r->watch_started_mono_ms;
        struct error silence = ERROR_NULL;

        if (r->state == WATCH_SENT && silent_ms >= WATCH_ANSWER_MS) {
                end_silent_watch(r, "answer", silent_ms);
                return;
        }
        (void)error_set(&silence, ETIMEDOUT, "no answer for %d ms", PROOF_MS);
        reflector_set_trouble(r, kube_outcome_name(KUBE_UNAVAILABLE), &silence);
        act_after(r, LOOK_MS);
}

/* An open watch is healthy until nothing comes any more. */
static void look_at_open_watch(struct reflector *r) {
        int64_t silent_ms = loop_now_mono_ms(r->loop) - r->last_data_mono_ms;

        if (r->state == WATCH_SENT) {
                r->state = WATCH_OPEN;
                r->expired_watches = 0;
                reflector_clear_trouble(r);
        }
        if (silent_ms >= WATCH_IDLE_MS)
                end_silent_watch(r, "data", silent_ms);
        else
                act_after(r, WATCH_IDLE_MS - silent_ms);
}

/* A list or watch that is not answered is reported before it ends. */
static void look_at_call(struct reflector *r) {
        if (!kube_is_answered(r->call))
                look_at_silence(r);
        else if (r->state == LIST_SENT)
                r->state = LIST_OPEN;
        else
                look_at_open_watch(r);
}

static void reflector_act(void *userdata) {
        struct reflector *r = userdata;

        if (r->state == LIST_LATER)
                start_list(r);
        else if (r->state == WATCH_LATER)
                start_watch(r);
        else
                look_at_call(r);
}

struct reflector *reflector_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                const struct reflector_spec *spec) {
        struct reflector *r = xcalloc(1, sizeof(*r));

        assert(spec->name && spec->path && !spec->on_event != !spec->on_text);
        assert(spec->on_text ? !spec->max_objects : !spec->list_field_selector);
        r->loop = loop;
        r->api = api;
        r->metrics = metrics;
        r->spec = *spec;
        delivery_init(&r->delivery, &r->spec, metrics);
        if (r->spec.page_limit == 0)
                r->spec.page_limit = DEFAULT_PAGE_LIMIT;
        int64_t first_ms = spec->first_pause_ms ? spec->first_pause_ms : BACKOFF_FIRST_MS;
        r->backoff = (struct backoff){
                .first_ms = first_ms,
                .max_ms = first_ms * BACKOFF_MAX_MS / BACKOFF_FIRST_MS,
                .forget_after_ms = BACKOFF_FORGET_MS,
        };
        r->page_limit = r->spec.page_limit;
        (void)snprintf(r->trouble, sizeof(r->trouble), "list: not complete yet");
        start_list(r);
        return r;
}

void reflector_free(struct reflector *r) {
        if (!r)
                return;
        kube_cancel(r->call);
        loop_timer_disarm(r->loop, &r->timer);
        watch_stream_done(&r->stream);
        delivery_done(&r->delivery);
        free(r->resource_version);
        free(r->continue_token);
        free(r);
}
