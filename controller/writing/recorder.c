#include "controller/writing/recorder.h"

#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum {
        EVENTS_PER_MIN = 10,
        QUEUE_MAX = 32,
        TIMEOUT_MS = 5000,
        RETRIES = 3,
        ANSWER_MAX_BYTES = 64 << 10,
        COUNTED_MAX = 256,
        LIFETIME_MS = 3600000, /* kube-apiserver's --event-ttl */
};

static const struct {
        const char *name, *suffix, *type;
        bool is_of_policy; /* about the policy object, not a Node */
} reasons[EVENT_REASON_COUNT] = {
        [EVENT_NODE_OVERLOADED] = {"NodeOverloaded", "plimsoll-overloaded", "Warning", false},
        [EVENT_NODE_LOAD_NORMAL] = {"NodeLoadNormal", "plimsoll-load-normal", "Normal", false},
        [EVENT_NODE_LOAD_STALE] = {"NodeLoadStale", "plimsoll-load-stale", "Warning", false},
        [EVENT_POLICY_INVALID] = {"PolicyInvalid", "plimsoll-policy-invalid", "Warning", true},
        [EVENT_POLICY_IN_FORCE] = {"PolicyInForce", "plimsoll-policy-in-force", "Normal", true},
        [EVENT_POLICY_WARNING] = {"PolicyWarning", "plimsoll-policy-warning", "Warning", true},
};

/* How often an Event has been written. */
struct counted {
        uint64_t hash; /* of its name; two Events that collide share a count */
        int64_t first_unix_ms, last_unix_ms;
        int count; /* 0: free */
};

/* Events beyond the limit of this minute: the last one, and their number. */
struct backlog {
        size_t count;
        char *name, *uid, *message;
};

struct request {
        STAILQ_ENTRY(request) link;
        enum event_reason reason;
        char *path, *body;
};

struct recorder {
        const struct daemon *daemon;
        bool is_writer;
        struct kube_fence fence;

        struct log_limit limit;
        struct backlog backlog[EVENT_REASON_COUNT];
        struct loop_timer minute;
        struct counted counted[COUNTED_MAX];

        STAILQ_HEAD(, request) queue;
        size_t queued;          /* including the one in flight */
        struct kube_call *call; /* for the first in the queue; NULL: none */
        bool is_failing;
        struct health_check *check;
};

static struct metrics_series *counter(const struct recorder *recorder, enum event_reason reason,
                                      const char *result) {
        return metrics_counter(
                recorder->daemon->metrics, "plimsoll_events_total",
                "Kubernetes Events by reason and result; held: counted in the message "
                "of a later Event.",
                LABELS("reason", reasons[reason].name, "result", result));
}

/* Sending */

static void remove_first(struct recorder *recorder) {
        struct request *request = STAILQ_FIRST(&recorder->queue);

        STAILQ_REMOVE_HEAD(&recorder->queue, link);
        recorder->queued--;
        free(request->path);
        free(request->body);
        free(request);
}

static void send_first(struct recorder *recorder);

static void on_event_written(void *userdata, const struct kube_answer *answer) {
        struct recorder *recorder = userdata;
        bool is_failing = answer->outcome != KUBE_OK;

        recorder->call = NULL;
        if (is_failing && !recorder->is_failing)
                log_warn(MSG("cannot write Events"),
                         STR("outcome", kube_outcome_name(answer->outcome)), ERR(&answer->err));
        else if (!is_failing && recorder->is_failing)
                log_info(MSG("Events are written again"));
        recorder->is_failing = is_failing;
        if (is_failing)
                health_pass(recorder->check, "the last Event could not be written: %s",
                            answer->err.msg);
        else
                health_pass(recorder->check, "no failure");
        metrics_inc(counter(recorder, STAILQ_FIRST(&recorder->queue)->reason,
                            is_failing ? "failed" : "sent"));
        remove_first(recorder);
        send_first(recorder);
}

static void send_first(struct recorder *recorder) {
        const struct request *request = STAILQ_FIRST(&recorder->queue);

        if (!request || recorder->call)
                return;
        recorder->call = kube_start(recorder->daemon->api,
                                    &(struct kube_request){
                                            .method = "PATCH",
                                            .path = request->path,
                                            .resource = "events",
                                            .content_type = "application/apply-patch+yaml",
                                            .body = request->body,
                                            .body_bytes = strlen(request->body),
                                            .timeout_ms = TIMEOUT_MS,
                                            .max_body_bytes = ANSWER_MAX_BYTES,
                                            .max_retries = RETRIES,
                                            .fence = recorder->fence,
                                            .on_done = on_event_written,
                                            .userdata = recorder,
                                    });
}

/* Composing */

/* Counts one more; from one, if the API server has deleted the Event since. */
static const struct counted *count(struct recorder *recorder, const char *name,
                                   int64_t now_unix_ms) {
        uint64_t hash = hash_fnv1a(HASH_FNV1A_INIT, name, strlen(name));
        struct counted *found = &recorder->counted[0];

        for (size_t i = 0; i < COUNTED_MAX; i++) {
                struct counted *candidate = &recorder->counted[i];
                if (candidate->count > 0 && candidate->hash == hash) {
                        found = candidate;
                        break;
                }
                if (candidate->last_unix_ms < found->last_unix_ms)
                        found = candidate;
        }
        if (found->hash != hash || now_unix_ms - found->last_unix_ms > LIFETIME_MS)
                *found = (struct counted){.hash = hash, .first_unix_ms = now_unix_ms};
        found->last_unix_ms = now_unix_ms;
        found->count++;
        return found;
}

/* Owned by the caller; NULL: the Event has text that is not UTF-8. */
static char *body_of(const struct event *event, const char *name, const struct counted *counted) {
        bool is_of_policy = reasons[event->reason].is_of_policy;
        char first[TIMESTAMP_MAX], last[TIMESTAMP_MAX];

        timestamp_format_s(counted->first_unix_ms, first, sizeof(first));
        timestamp_format_s(counted->last_unix_ms, last, sizeof(last));
        json_auto_t *object = json_pack(
                "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s}, s:s, "
                "s:s, s:s, s:i}",
                "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
                "default", "involvedObject", "apiVersion",
                is_of_policy ? "scheduler.policy.crane.io/v1alpha1" : "v1", "kind",
                is_of_policy ? "DynamicSchedulerPolicy" : "Node", "name", event->name, "uid",
                event->uid, "type", reasons[event->reason].type, "reason",
                reasons[event->reason].name, "message", event->message, "source", "component",
                KUBE_FIELD_MANAGER, "reportingComponent", KUBE_FIELD_MANAGER, "firstTimestamp",
                first, "lastTimestamp", last, "count", counted->count);

        return object ? json_dumps(object, JSON_COMPACT) : NULL;
}

static void enqueue(struct recorder *recorder, const struct event *event) {
        _cleanup_(freep) char *name = xasprintf("%s.%s", event->name,
                                                reasons[event->reason].suffix);
        char *body = NULL;

        if (recorder->queued < QUEUE_MAX)
                body = body_of(event, name,
                               count(recorder, name, loop_now_unix_ms(recorder->daemon->loop)));
        if (!body) {
                metrics_inc(counter(recorder, event->reason, "dropped"));
                return;
        }
        struct request *request = xcalloc(1, sizeof(*request));
        *request = (struct request){
                .reason = event->reason,
                .path = kube_path(KUBE_CORE, "default", "events", name,
                                  "?fieldManager=" KUBE_FIELD_MANAGER "&force=true"),
                .body = body,
        };
        STAILQ_INSERT_TAIL(&recorder->queue, request, link);
        recorder->queued++;
        send_first(recorder);
}

/* The limit */

static void clear_backlog(struct backlog *backlog) {
        free(backlog->name);
        free(backlog->uid);
        free(backlog->message);
        *backlog = (struct backlog){0};
}

static bool is_allowed(struct recorder *recorder) {
        uint64_t suppressed; /* the backlog counts them by reason */

        return log_limit_allows(&recorder->limit, EVENTS_PER_MIN,
                                loop_now_mono_ms(recorder->daemon->loop), &suppressed);
}

static void enqueue_backlog(struct recorder *recorder, enum event_reason reason) {
        struct backlog *backlog = &recorder->backlog[reason];
        _cleanup_(freep) char *message = backlog->count > 1
                                                 ? xasprintf("%s (and %zu more within a minute)",
                                                             backlog->message, backlog->count - 1)
                                                 : xstrdup(backlog->message);

        (void)is_allowed(recorder);
        enqueue(recorder, &(struct event){.reason = reason,
                                          .name = backlog->name,
                                          .uid = backlog->uid,
                                          .message = message});
        clear_backlog(backlog);
}

static void on_minute(void *userdata) {
        struct recorder *recorder = userdata;

        if (log_limit_summary(&recorder->limit, loop_now_mono_ms(recorder->daemon->loop)) == 0)
                return;
        for (size_t i = 0; i < EVENT_REASON_COUNT; i++)
                if (recorder->backlog[i].count > 0)
                        enqueue_backlog(recorder, (enum event_reason)i);
}

static void hold(struct recorder *recorder, const struct event *event) {
        struct backlog *backlog = &recorder->backlog[event->reason];
        size_t before = backlog->count;

        metrics_inc(counter(recorder, event->reason, "held"));
        clear_backlog(backlog);
        *backlog = (struct backlog){.count = before + 1,
                                    .name = xstrdup(event->name),
                                    .uid = xstrdup(event->uid),
                                    .message = xstrdup(event->message)};
        loop_timer_arm(recorder->daemon->loop, &recorder->minute,
                       recorder->limit.minute_mono_ms + MS_PER_MIN, on_minute, recorder);
}

void recorder_write(struct recorder *recorder, const struct event *event) {
        if (!recorder->is_writer)
                return;
        on_minute(recorder);
        if (is_allowed(recorder))
                enqueue(recorder, event);
        else
                hold(recorder, event);
}

/* The whole */

struct recorder *recorder_new(const struct daemon *daemon) {
        static const char *const results[] = {"sent", "failed", "dropped", "held"};
        struct recorder *recorder = xcalloc(1, sizeof(*recorder));

        recorder->daemon = daemon;
        recorder->check = health_add(daemon->health, "events", "none written yet");
        health_pass(recorder->check, "no failure");
        STAILQ_INIT(&recorder->queue);
        for (size_t i = 0; i < EVENT_REASON_COUNT; i++)
                for (size_t j = 0; j < ARRAY_LEN(results); j++)
                        (void)counter(recorder, (enum event_reason)i, results[j]);
        return recorder;
}

void recorder_set_writer(struct recorder *recorder, const struct kube_fence *fence) {
        recorder->is_writer = fence != NULL;
        if (fence) {
                recorder->fence = *fence;
                return;
        }
        kube_cancel(TAKE_PTR(recorder->call));
        while (!STAILQ_EMPTY(&recorder->queue)) {
                metrics_inc(counter(recorder, STAILQ_FIRST(&recorder->queue)->reason, "dropped"));
                remove_first(recorder);
        }
        for (size_t i = 0; i < EVENT_REASON_COUNT; i++)
                clear_backlog(&recorder->backlog[i]);
        loop_timer_disarm(recorder->daemon->loop, &recorder->minute);
}

void recorder_free(struct recorder *recorder) {
        if (!recorder)
                return;
        recorder_set_writer(recorder, NULL);
        free(recorder);
}
