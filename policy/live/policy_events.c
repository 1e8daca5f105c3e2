#include "policy/live/policy_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "policy/live/policy_source.h"

enum {
        TIMEOUT_MS = 5000,
        RETRIES = 3,
        ANSWER_MAX_BYTES = 64 << 10,
        LIFETIME_MS = 3600000, /* kube-apiserver's --event-ttl */
};

static const struct {
        const char *reason, *name, *type;
} rows[POLICY_EVENT_COUNT] = {
        [POLICY_EVENT_INVALID] = {"PolicyInvalid", POLICY_OBJECT_NAME ".plimsoll-policy-invalid",
                                  "Warning"},
        [POLICY_EVENT_IN_FORCE] = {"PolicyInForce", POLICY_OBJECT_NAME ".plimsoll-policy-in-force",
                                   "Normal"},
        [POLICY_EVENT_WARNING] = {"PolicyWarning", POLICY_OBJECT_NAME ".plimsoll-policy-warning",
                                  "Warning"},
};

enum result { SENT, FAILED, DROPPED, RESULT_COUNT };

struct counted {
        int64_t first_unix_ms, last_unix_ms;
        int count;
};

struct policy_events {
        const struct daemon *daemon;
        bool is_writer;
        struct kube_fence fence;
        struct counted counted[POLICY_EVENT_COUNT];

        struct kube_call *call; /* NULL: none is in flight */
        enum policy_event sent; /* in flight */
        enum policy_event next; /* waits, if it has a body */
        char *next_body;
        bool is_failing;
        struct health_check *check;
        struct metrics_series *results[POLICY_EVENT_COUNT][RESULT_COUNT];
};

static void drop_next(struct policy_events *events) {
        if (events->next_body)
                metrics_inc(events->results[events->next][DROPPED]);
        free(TAKE_PTR(events->next_body));
}

static void send_next(struct policy_events *events);

static void on_event_written(void *userdata, const struct kube_answer *answer) {
        struct policy_events *events = userdata;
        bool is_failing = answer->outcome != KUBE_OK;

        events->call = NULL;
        if (is_failing && !events->is_failing)
                log_warn(MSG("cannot write Events"),
                         STR("outcome", kube_outcome_name(answer->outcome)), ERR(&answer->err));
        else if (!is_failing && events->is_failing)
                log_info(MSG("Events are written again"));
        events->is_failing = is_failing;
        if (is_failing)
                health_pass(events->check, "the last Event could not be written: %s",
                            answer->err.msg);
        else
                health_pass(events->check, "no failure");
        metrics_inc(events->results[events->sent][is_failing ? FAILED : SENT]);
        send_next(events);
}

static void send_next(struct policy_events *events) {
        _cleanup_(freep) char *body = NULL, *path = NULL;

        if (!events->next_body || events->call)
                return;
        body = TAKE_PTR(events->next_body);
        path = kube_path(KUBE_CORE, "default", "events", rows[events->next].name,
                         "?fieldManager=" KUBE_FIELD_MANAGER "&force=true");
        events->sent = events->next;
        events->call = kube_start(events->daemon->api,
                                  &(struct kube_request){
                                          .method = "PATCH",
                                          .path = path,
                                          .resource = "events",
                                          .content_type = "application/apply-patch+yaml",
                                          .body = body,
                                          .body_bytes = strlen(body),
                                          .timeout_ms = TIMEOUT_MS,
                                          .max_body_bytes = ANSWER_MAX_BYTES,
                                          .max_retries = RETRIES,
                                          .fence = events->fence,
                                          .on_done = on_event_written,
                                          .userdata = events,
                                  });
}

/* Counts one more; from one, if the API server has deleted the Event since. */
static void count_event(struct counted *counted, int64_t now_unix_ms) {
        if (counted->count == 0 || now_unix_ms - counted->last_unix_ms > LIFETIME_MS)
                *counted = (struct counted){.first_unix_ms = now_unix_ms};
        counted->last_unix_ms = now_unix_ms;
        counted->count++;
}

/* Owned by the caller; NULL: the Event has text that is not UTF-8. */
static char *body_of(enum policy_event event, const char *uid, const char *message,
                     const struct counted *counted) {
        char first[TIMESTAMP_MAX], last[TIMESTAMP_MAX];

        timestamp_format_s(counted->first_unix_ms, first, sizeof(first));
        timestamp_format_s(counted->last_unix_ms, last, sizeof(last));
        json_auto_t *object = json_pack(
                "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s}, s:s, "
                "s:s, s:s, s:i}",
                "apiVersion", "v1", "kind", "Event", "metadata", "name", rows[event].name,
                "namespace", "default", "involvedObject", "apiVersion",
                "scheduler.policy.crane.io/v1alpha1", "kind", "DynamicSchedulerPolicy", "name",
                POLICY_OBJECT_NAME, "uid", uid, "type", rows[event].type, "reason",
                rows[event].reason, "message", message, "source", "component", KUBE_FIELD_MANAGER,
                "reportingComponent", KUBE_FIELD_MANAGER, "firstTimestamp", first, "lastTimestamp",
                last, "count", counted->count);

        return object ? json_dumps(object, JSON_COMPACT) : NULL;
}

void policy_events_write(struct policy_events *events, enum policy_event event, const char *uid,
                         const char *message) {
        if (!events->is_writer)
                return;
        drop_next(events);
        count_event(&events->counted[event], loop_now_unix_ms(events->daemon->loop));
        events->next = event;
        events->next_body = body_of(event, uid, message, &events->counted[event]);
        if (!events->next_body)
                metrics_inc(events->results[event][DROPPED]);
        send_next(events);
}

struct policy_events *policy_events_new(const struct daemon *daemon) {
        static const char *const names[] = {
                [SENT] = "sent", [FAILED] = "failed", [DROPPED] = "dropped"};
        struct policy_events *events = xcalloc(1, sizeof(*events));

        events->daemon = daemon;
        events->check = health_add(daemon->health, "events", "none written yet");
        health_pass(events->check, "no failure");
        for (size_t i = 0; i < POLICY_EVENT_COUNT; i++)
                for (size_t j = 0; j < RESULT_COUNT; j++)
                        events->results[i][j] = metrics_counter(
                                daemon->metrics, "plimsoll_events_total",
                                "Kubernetes Events by reason and result.",
                                LABELS("reason", rows[i].reason, "result", names[j]));
        return events;
}

void policy_events_set_writer(struct policy_events *events, const struct kube_fence *fence) {
        events->is_writer = fence != NULL;
        if (fence) {
                events->fence = *fence;
                return;
        }
        if (events->call)
                metrics_inc(events->results[events->sent][DROPPED]);
        kube_cancel(TAKE_PTR(events->call));
        drop_next(events);
}

void policy_events_free(struct policy_events *events) {
        if (!events)
                return;
        policy_events_set_writer(events, NULL);
        free(events);
}
