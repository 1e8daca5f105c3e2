#include "controller/writing/publisher.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "controller/writing/token_bucket.h"
#include "kube/kube_path.h"

enum {
        PATCH_TIMEOUT_MS = 10000,
        PATCH_RETRIES = 2,
        RETRY_MS = 5000, /* after a failure, at least */
        PATCH_ANSWER_MAX_BYTES = 2 << 20,
        MIN_IN_FLIGHT = 4,
        MAX_IN_FLIGHT = 64, /* half of the API client's, which also renews the Lease */
        FIRST_PER_OTHER = 10,
        /* A look touches the memory of every node: every ten seconds with 100,000 nodes. */
        NODES_PER_MS = 10,
};

struct publisher {
        struct publisher_options options;
        struct patch_kind kinds[PUBLISHER_MAX_KINDS];
        size_t kind_count;
        struct token_bucket bucket;
        unsigned first_streak; /* patches of the first kind since the last one of another kind */
        size_t last_other;     /* index of the other kind that was last */
        struct loop_timer timer;
        struct buf patch;
};

#define KIND_FOREACH(kind, publisher)                                                              \
        for ((kind) = (publisher)->kinds; (kind) < (publisher)->kinds + (publisher)->kind_count;   \
             (kind)++)

static void publisher_run(void *userdata);

static int64_t now_of(const struct publisher *publisher) {
        return loop_now_mono_ms(publisher->options.daemon->loop);
}

int64_t publisher_now(const struct patch_kind *kind) {
        return now_of(kind->publisher);
}

size_t publisher_in_flight(double patches_per_s) {
        return (size_t)fmin(fmax(patches_per_s / 3, MIN_IN_FLIGHT), MAX_IN_FLIGHT);
}

struct publisher *publisher_new(const struct publisher_options *options) {
        struct publisher *publisher = xcalloc(1, sizeof(*publisher));

        publisher->options = *options;
        publisher->patch = BUF_INIT(PUBLISHER_MAX_PATCH_BYTES);
        token_bucket_init(&publisher->bucket, options->patches_per_s, now_of(publisher));
        return publisher;
}

void publisher_free(struct publisher *publisher) {
        loop_timer_disarm(publisher->options.daemon->loop, &publisher->timer);
        buf_done(&publisher->patch);
        free(publisher);
}

struct patch_kind *publisher_add_kind(struct publisher *publisher,
                                      const struct patch_kind_options *options) {
        assert(publisher->kind_count < PUBLISHER_MAX_KINDS);
        struct patch_kind *kind = &publisher->kinds[publisher->kind_count++];

        kind->options = *options;
        kind->publisher = publisher;
        kind->failures.outages.what = options->what;
        TAILQ_INIT(&kind->jobs);
        patch_queue_init(&kind->queue);
        return kind;
}

/* Sending */

static void on_patch_done(void *userdata, const struct kube_answer *answer) {
        struct publisher_job *job = userdata;
        struct patch_kind *kind = job->kind;
        struct publisher *publisher = kind->publisher;
        const char *rule = job->is_of_status ? "nodes/status" : "nodes";
        int64_t now_mono_ms = now_of(publisher);

        job->call = NULL;
        kind->in_flight--;
        enum patch_outcome outcome = patch_failures_note(&kind->failures, &job->is_failing,
                                                         job->node, rule, answer, now_mono_ms);
        if (outcome == PATCH_WRITTEN || outcome == PATCH_GONE)
                job->backoff.failures = 0;
        else
                job->retry_mono_ms = now_mono_ms + RETRY_MS +
                                     backoff_next_ms(&job->backoff, now_mono_ms);
        enum kube_outcome shown = outcome == PATCH_GONE ? KUBE_NOT_FOUND : answer->outcome;
        metrics_inc(metrics_counter(publisher->options.daemon->metrics, "plimsoll_patches_total",
                                    "Patches of nodes by outcome, after retries.",
                                    LABELS("outcome", kube_outcome_name(shown))));
        kind->options.on_done(job, outcome);
        publisher_run(publisher);
}

static void send_patch(struct publisher *publisher, struct publisher_job *job) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, NULL, "nodes", job->node,
                                                job->is_of_status
                                                        ? "/status?fieldManager=" KUBE_FIELD_MANAGER
                                                        : "?fieldManager=" KUBE_FIELD_MANAGER);

        job->kind->in_flight++;
        job->call = kube_start(publisher->options.daemon->api,
                               &(struct kube_request){
                                       .method = "PATCH",
                                       .path = path,
                                       .resource = job->is_of_status ? "nodes/status" : "nodes",
                                       .accept = KUBE_ACCEPT_METADATA,
                                       .content_type = job->content_type
                                                               ? job->content_type
                                                               : "application/merge-patch+json",
                                       .body = publisher->patch.data,
                                       .body_bytes = publisher->patch.len,
                                       .timeout_ms = PATCH_TIMEOUT_MS,
                                       .max_body_bytes = PATCH_ANSWER_MAX_BYTES,
                                       .max_retries = PATCH_RETRIES,
                                       .fence = publisher->options.fence,
                                       .on_done = on_patch_done,
                                       .userdata = job,
                               });
}

static bool is_ready(const struct patch_kind *kind) {
        return kind->queue.len > 0 && kind->in_flight < kind->options.max_in_flight &&
               publisher_now(kind) >= kind->failures.paused_until_mono_ms;
}

/* The next kind after the first that is ready, round robin; NULL: none is. */
static struct patch_kind *next_other(struct publisher *publisher) {
        size_t count = publisher->kind_count - 1;

        for (size_t i = 0; i < count; i++) {
                struct patch_kind *kind =
                        &publisher->kinds[1 + (publisher->last_other + i) % count];
                if (is_ready(kind))
                        return kind;
        }
        return NULL;
}

/* Ten patches of the first kind earn one of another kind, which costs no token. Returns false if
 * no patch can be sent now. */
static bool send_next(struct publisher *publisher) {
        struct patch_kind *first = publisher->kinds, *other = next_other(publisher);
        bool is_earned = other && publisher->first_streak >= FIRST_PER_OTHER;
        struct patch_kind *kind = is_ready(first) && !is_earned ? first : other;

        if (!kind || (!is_earned && !token_bucket_has(&publisher->bucket, now_of(publisher))))
                return false;
        struct publisher_job *job = CONTAINER_OF(patch_queue_pop(&kind->queue),
                                                 struct publisher_job, place);
        buf_clear(&publisher->patch);
        if (!kind->options.compose(job, &publisher->patch))
                return true;
        publisher->first_streak = kind == first ? publisher->first_streak + 1 : 0;
        if (kind != first)
                publisher->last_other = (size_t)(kind - first);
        publisher->bucket.tokens -= is_earned ? 0 : 1;
        send_patch(publisher, job);
        return true;
}

static void publisher_run(void *userdata) {
        struct publisher *publisher = userdata;
        int64_t wake_mono_ms = INT64_MAX;
        struct patch_kind *kind;

        while (send_next(publisher))
                ;
        KIND_FOREACH(kind, publisher) {
                int64_t paused_mono_ms = kind->failures.paused_until_mono_ms;
                if (is_ready(kind))
                        wake_mono_ms = token_bucket_at_mono_ms(&publisher->bucket);
                else if (kind->queue.len > 0 && now_of(publisher) < paused_mono_ms &&
                         paused_mono_ms < wake_mono_ms)
                        wake_mono_ms = paused_mono_ms;
        }
        if (wake_mono_ms < INT64_MAX)
                loop_timer_arm(publisher->options.daemon->loop, &publisher->timer, wake_mono_ms,
                               publisher_run, publisher);
        if (publisher->options.on_idle && publisher_is_idle(publisher))
                publisher->options.on_idle(publisher->options.userdata);
}

/* In the loop's next pass: callbacks never run inside of the owner's call. */
static void publisher_wake(struct publisher *publisher) {
        loop_timer_arm(publisher->options.daemon->loop, &publisher->timer, now_of(publisher),
                       publisher_run, publisher);
}

/* Jobs */

void publisher_add(struct patch_kind *kind, struct publisher_job *job, const char *name) {
        job->kind = kind;
        job->node = name;
        job->backoff = (struct backoff){.first_ms = RETRY_MS, .max_ms = kind->options.max_retry_ms};
        TAILQ_INSERT_TAIL(&kind->jobs, job, link);
        kind->job_count++;
}

void publisher_remove(struct publisher_job *job) {
        publisher_cancel(job);
        TAILQ_REMOVE(&job->kind->jobs, job, link);
        job->kind->job_count--;
}

void publisher_grant(struct publisher_job *job, int64_t grace_ms) {
        job->grace_until_mono_ms = publisher_now(job->kind) + grace_ms;
}

void publisher_push(struct publisher_job *job, unsigned urgency) {
        if (job->call || publisher_now(job->kind) < job->retry_mono_ms)
                return;
        if (!job->place.is_queued)
                publisher_wake(job->kind->publisher);
        patch_queue_put(&job->kind->queue, &job->place, urgency);
}

void publisher_unwanted(struct publisher_job *job) {
        patch_failures_forget(&job->kind->failures, &job->is_failing);
}

void publisher_cancel(struct publisher_job *job) {
        publisher_unwanted(job);
        if (!job->call && !job->place.is_queued)
                return;
        patch_queue_drop(&job->kind->queue, &job->place);
        job->kind->in_flight -= job->call != NULL;
        kube_cancel(TAKE_PTR(job->call));
        publisher_wake(job->kind->publisher);
}

void publisher_cancel_all(struct publisher *publisher) {
        struct publisher_job *job;
        struct patch_kind *kind;

        KIND_FOREACH(kind, publisher) {
                TAILQ_FOREACH (job, &kind->jobs, link)
                        publisher_cancel(job);
        }
}

void publisher_drop_queue(struct publisher *publisher) {
        struct patch_kind *kind;

        KIND_FOREACH(kind, publisher) {
                while (patch_queue_pop(&kind->queue))
                        ;
        }
        publisher_wake(publisher);
}

/* The whole */

void publisher_tick(struct publisher *publisher) {
        struct patch_kind *kind;

        KIND_FOREACH(kind, publisher) {
                outage_log_tick(&kind->failures.outages, now_of(publisher));
        }
}

bool publisher_may_look(struct patch_kind *kind) {
        int64_t now_mono_ms = publisher_now(kind);

        if (now_mono_ms < kind->look_mono_ms)
                return false;
        kind->look_mono_ms = now_mono_ms + (int64_t)(kind->job_count / NODES_PER_MS);
        return true;
}

void publisher_look_no_more(struct patch_kind *kind) {
        kind->look_mono_ms = INT64_MAX;
}

void publisher_look_again(struct patch_kind *kind) {
        if (kind->look_mono_ms == INT64_MAX)
                kind->look_mono_ms = 0;
}

bool publisher_is_idle(const struct publisher *publisher) {
        const struct patch_kind *kind;
        size_t busy = 0;

        KIND_FOREACH(kind, publisher) {
                busy += kind->queue.len + kind->in_flight;
        }
        return busy == 0;
}

const char *publisher_trouble(const struct publisher *publisher) {
        const struct patch_kind *kind;

        KIND_FOREACH(kind, publisher) {
                if (*kind->failures.trouble)
                        return kind->failures.trouble;
        }
        return "";
}
