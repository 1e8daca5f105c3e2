#include "controller/writing/publisher.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/kube_path.h"

enum {
        PATCH_TIMEOUT_MS = 10000,
        PATCH_RETRIES = 2,
        PATCH_ANSWER_MAX_BYTES = 2 << 20,
        /* This many denials in a row are not about single nodes: RBAC lacks a rule. */
        DENIED_IN_A_ROW = 16,
        DENIED_PAUSE_MS = 5000,
        /* This many failures in a row are reported; fewer may be about one node. */
        TROUBLE_IN_A_ROW = 4,
};

struct publisher {
        struct loop *loop;
        struct kube_api *api;
        struct metrics *metrics;
        struct publisher_events events;
        struct kube_fence fence;
        struct patch_queue queue;
        size_t in_flight, max_in_flight;
        double patches_per_s, max_tokens, tokens;
        int64_t filled_mono_ms;
        size_t denied; /* in a row */
        size_t failed; /* in a row, whatever the reason */
        char trouble[ERROR_MSG_MAX];
        int64_t paused_until_mono_ms;
        struct loop_timer timer;
        struct buf patch;
};

struct publisher *publisher_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                double patches_per_s, size_t max_in_flight, struct kube_fence fence,
                                const struct publisher_events *events) {
        struct publisher *publisher = xcalloc(1, sizeof(*publisher));

        publisher->loop = loop;
        publisher->api = api;
        publisher->metrics = metrics;
        publisher->events = *events;
        publisher->fence = fence;
        patch_queue_init(&publisher->queue);
        publisher->max_in_flight = max_in_flight;
        publisher->patches_per_s = patches_per_s;
        publisher->max_tokens = patches_per_s > 10 ? patches_per_s / 10 : 1;
        publisher->tokens = publisher->max_tokens;
        publisher->filled_mono_ms = loop_now_mono_ms(loop);
        publisher->patch = BUF_INIT(PUBLISHER_MAX_PATCH_BYTES);
        return publisher;
}

void publisher_free(struct publisher *publisher) {
        if (!publisher)
                return;
        loop_timer_disarm(publisher->loop, &publisher->timer);
        buf_done(&publisher->patch);
        free(publisher);
}

static const struct publisher_events *events_of(const struct publisher_job *job,
                                                const struct publisher *publisher) {
        return job->events ? job->events : &publisher->events;
}

static void pump(void *userdata);

static void note_outcome(struct publisher *publisher, const struct kube_answer *answer) {
        if (answer->outcome == KUBE_OK || answer->outcome == KUBE_NOT_FOUND)
                publisher->failed = 0;
        else
                publisher->failed++;
        publisher->trouble[0] = '\0';
        if (publisher->failed >= TROUBLE_IN_A_ROW)
                (void)snprintf(publisher->trouble, sizeof(publisher->trouble),
                               "the last %zu patches failed: %s: %.*s", publisher->failed,
                               kube_outcome_name(answer->outcome),
                               (int)sizeof(publisher->trouble) - 64, answer->err.msg);
}

const char *publisher_trouble(const struct publisher *publisher) {
        return publisher->trouble;
}

static void on_done(void *userdata, const struct kube_answer *answer) {
        struct publisher_job *job = userdata;
        struct publisher *publisher = job->publisher;

        job->call = NULL;
        job->state = PUBLISHER_IDLE;
        publisher->in_flight--;
        metrics_inc(metrics_counter(publisher->metrics, "plimsoll_patches_total",
                                    "Patches of nodes by outcome, after retries.",
                                    LABELS("outcome", kube_outcome_name(answer->outcome))));
        if (answer->outcome != KUBE_FORBIDDEN && answer->outcome != KUBE_UNAUTHORIZED)
                publisher->denied = 0;
        else if (++publisher->denied >= DENIED_IN_A_ROW)
                publisher->paused_until_mono_ms = loop_now_mono_ms(publisher->loop) +
                                                  DENIED_PAUSE_MS;
        note_outcome(publisher, answer);
        const struct publisher_events *events = events_of(job, publisher);
        events->on_done(events->userdata, job, answer);
        pump(publisher);
}

static void send(struct publisher *publisher, struct publisher_job *job) {
        const char *content_type = events_of(job, publisher)->content_type;
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, NULL, "nodes", job->node,
                                                "?fieldManager=" KUBE_FIELD_MANAGER);

        job->state = PUBLISHER_IN_FLIGHT;
        publisher->in_flight++;
        job->call = kube_start(publisher->api,
                               &(struct kube_request){
                                       .method = "PATCH",
                                       .path = path,
                                       .resource = "nodes",
                                       .accept = KUBE_ACCEPT_METADATA,
                                       .content_type = content_type
                                                               ? content_type
                                                               : "application/merge-patch+json",
                                       .body = publisher->patch.data,
                                       .body_bytes = publisher->patch.len,
                                       .timeout_ms = PATCH_TIMEOUT_MS,
                                       .max_body_bytes = PATCH_ANSWER_MAX_BYTES,
                                       .max_retries = PATCH_RETRIES,
                                       .fence = publisher->fence,
                                       .on_done = on_done,
                                       .userdata = job,
                               });
}

static void refill(struct publisher *publisher) {
        int64_t now_mono_ms = loop_now_mono_ms(publisher->loop);

        publisher->tokens += (double)(now_mono_ms - publisher->filled_mono_ms) *
                             publisher->patches_per_s / MS_PER_S;
        if (publisher->tokens > publisher->max_tokens)
                publisher->tokens = publisher->max_tokens;
        publisher->filled_mono_ms = now_mono_ms;
}

static struct publisher_job *pop(struct publisher *publisher) {
        struct publisher_job *job = (struct publisher_job *)patch_queue_pop(&publisher->queue);

        if (job)
                job->state = PUBLISHER_IDLE;
        return job;
}

static void send_queued(struct publisher *publisher) {
        refill(publisher);
        while (publisher->in_flight < publisher->max_in_flight && publisher->tokens >= 1) {
                struct publisher_job *job = pop(publisher);
                if (!job)
                        break;
                buf_clear(&publisher->patch);
                const struct publisher_events *events = events_of(job, publisher);
                if (!events->on_turn(events->userdata, job, &publisher->patch))
                        continue;
                publisher->tokens -= 1;
                send(publisher, job);
        }
        if (publisher->queue.len > 0 && publisher->tokens < 1) {
                double wait_ms = (1 - publisher->tokens) * MS_PER_S / publisher->patches_per_s;
                loop_timer_arm(publisher->loop, &publisher->timer,
                               loop_now_mono_ms(publisher->loop) + (int64_t)wait_ms + 1, pump,
                               publisher);
        }
}

static void pump(void *userdata) {
        struct publisher *publisher = userdata;

        if (loop_now_mono_ms(publisher->loop) < publisher->paused_until_mono_ms)
                loop_timer_arm(publisher->loop, &publisher->timer, publisher->paused_until_mono_ms,
                               pump, publisher);
        else
                send_queued(publisher);
        if (publisher->events.on_idle && publisher_is_idle(publisher))
                publisher->events.on_idle(publisher->events.userdata);
}

/* On the next turn of the loop: the caller is not called back from within its call. */
static void pump_later(struct publisher *publisher) {
        if (!loop_timer_is_armed(&publisher->timer))
                loop_timer_arm(publisher->loop, &publisher->timer,
                               loop_now_mono_ms(publisher->loop), pump, publisher);
}

void publisher_push(struct publisher *publisher, struct publisher_job *job, unsigned level) {
        if (job->state == PUBLISHER_IN_FLIGHT)
                return;
        patch_queue_put(&publisher->queue, &job->place, level);
        if (job->state == PUBLISHER_QUEUED)
                return;
        job->publisher = publisher;
        job->state = PUBLISHER_QUEUED;
        pump_later(publisher);
}

void publisher_cancel(struct publisher_job *job) {
        struct publisher *publisher = job->publisher;

        if (job->state == PUBLISHER_IDLE)
                return;
        if (job->state == PUBLISHER_QUEUED)
                patch_queue_drop(&publisher->queue, &job->place);
        else
                publisher->in_flight--;
        kube_cancel(TAKE_PTR(job->call));
        job->state = PUBLISHER_IDLE;
        pump_later(publisher);
}

void publisher_drop_queue(struct publisher *publisher) {
        if (publisher->queue.len > 0)
                pump_later(publisher);
        while (pop(publisher))
                ;
}

size_t publisher_waiting(const struct publisher *publisher) {
        return publisher->queue.len;
}

bool publisher_is_idle(const struct publisher *publisher) {
        return publisher->queue.len == 0 && publisher->in_flight == 0;
}
