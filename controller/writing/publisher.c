#include "controller/writing/publisher.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum {
        PATCH_TIMEOUT_MS = 10000,
        STATUS_UNPROCESSABLE = 422,
        PATCH_RETRIES = 2,
        PATCH_ANSWER_MAX_BYTES = 2 << 20,
        MIN_IN_FLIGHT = 4,
        MAX_IN_FLIGHT = 64, /* half of the API client's: a Lease is to be renewed, too */
        /* This many denials in a row are not about single nodes: RBAC lacks a rule. */
        DENIED_IN_A_ROW = 16,
        DENIED_PAUSE_MS = 5000,
        /* This many failures in a row are reported; fewer may be about one node. */
        TROUBLE_IN_A_ROW = 4,
        /* A look touches the memory of all nodes: of 100,000, every ten seconds. */
        NODES_PER_MS = 10,
};

int64_t publisher_now(const struct publisher *publisher) {
        return loop_now_mono_ms(publisher->options.daemon->loop);
}

size_t publisher_in_flight(double patches_per_s) {
        double in_flight = patches_per_s / 3;

        return (size_t)fmin(fmax(in_flight, MIN_IN_FLIGHT), MAX_IN_FLIGHT);
}

struct publisher *publisher_new(const struct publisher_options *options) {
        struct publisher *publisher = xcalloc(1, sizeof(*publisher));

        publisher->options = *options;
        publisher->outages.what = options->what;
        TAILQ_INIT(&publisher->jobs);
        patch_queue_init(&publisher->queue);
        publisher->max_tokens = options->patches_per_s > 10 ? options->patches_per_s / 10 : 1;
        publisher->tokens = publisher->max_tokens;
        publisher->filled_mono_ms = publisher_now(publisher);
        publisher->patch = BUF_INIT(PUBLISHER_MAX_PATCH_BYTES);
        return publisher;
}

void publisher_free(struct publisher *publisher) {
        loop_timer_disarm(publisher->options.daemon->loop, &publisher->timer);
        buf_done(&publisher->patch);
        free(publisher);
}

static void publisher_run(void *userdata);

static bool is_denied(const struct kube_answer *answer) {
        return answer->outcome == KUBE_FORBIDDEN || answer->outcome == KUBE_UNAUTHORIZED;
}

static void note_failed_run(struct publisher *publisher, const struct publisher_job *job,
                            const struct kube_answer *answer) {
        const char *rule = job->is_of_status ? "; see the RBAC rule for patching nodes/status"
                                             : "; see the RBAC rule for patching nodes";

        if (answer->outcome == KUBE_OK || answer->outcome == KUBE_NOT_FOUND)
                publisher->failed = 0;
        else
                publisher->failed++;
        publisher->trouble[0] = '\0';
        if (publisher->failed >= TROUBLE_IN_A_ROW)
                (void)snprintf(publisher->trouble, sizeof(publisher->trouble),
                               "the last %zu patches failed: %s: %.*s%s", publisher->failed,
                               kube_outcome_name(answer->outcome),
                               (int)sizeof(publisher->trouble) - 128, answer->err.msg,
                               is_denied(answer) ? rule : "");
}

/* Whether a node that is gone has failed or not, the watch will show it to be gone. */
static void note_failing(struct publisher *publisher, struct publisher_job *job,
                         const struct kube_answer *answer) {
        bool is_failing = answer->outcome != KUBE_OK;

        if (answer->outcome == KUBE_NOT_FOUND || is_failing == job->is_failing)
                return;
        job->is_failing = is_failing;
        if (is_failing)
                outage_log_failed(&publisher->outages, publisher_now(publisher), job->node, NULL,
                                  kube_outcome_name(answer->outcome), answer->err.msg);
        else
                outage_log_recovered(&publisher->outages, publisher_now(publisher), job->node);
}

/* The node that the patch is for is gone, and another one has its name. */
static bool is_made_anew(const struct kube_answer *answer) {
        json_auto_t *status = NULL;
        const json_t *cause;
        size_t i;

        if (answer->status != STATUS_UNPROCESSABLE ||
            json_parse(answer->body, answer->body_bytes, &status, NULL) < 0)
                return false;
        json_array_foreach (json_at(status, "details", "causes", NULL), i, cause)
                if (json_is_at("metadata.uid", cause, "field", NULL))
                        return true;
        return false;
}

static void on_patch_done(void *userdata, const struct kube_answer *given) {
        struct publisher_job *job = userdata;
        struct publisher *publisher = job->publisher;
        struct kube_answer found = *given, *answer = &found;

        job->call = NULL;
        publisher->in_flight--;
        if (is_made_anew(given))
                found.outcome = KUBE_NOT_FOUND;
        metrics_inc(metrics_counter(publisher->options.daemon->metrics, "plimsoll_patches_total",
                                    "Patches of nodes by outcome, after retries.",
                                    LABELS("outcome", kube_outcome_name(answer->outcome))));
        if (!is_denied(answer))
                publisher->denied = 0;
        else if (++publisher->denied >= DENIED_IN_A_ROW)
                publisher->paused_until_mono_ms = publisher_now(publisher) + DENIED_PAUSE_MS;
        note_failed_run(publisher, job, answer);
        note_failing(publisher, job, answer);
        publisher->options.on_done(publisher->options.userdata, job, answer);
        publisher_run(publisher);
}

static void send_patch(struct publisher *publisher, struct publisher_job *job) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, NULL, "nodes", job->node,
                                                job->is_of_status
                                                        ? "/status?fieldManager=" KUBE_FIELD_MANAGER
                                                        : "?fieldManager=" KUBE_FIELD_MANAGER);

        publisher->in_flight++;
        job->call = kube_start(publisher->options.daemon->api,
                               &(struct kube_request){
                                       .method = "PATCH",
                                       .path = path,
                                       .resource = "nodes",
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

static void refill_tokens(struct publisher *publisher) {
        int64_t now_mono_ms = publisher_now(publisher);

        publisher->tokens += (double)(now_mono_ms - publisher->filled_mono_ms) *
                             publisher->options.patches_per_s / MS_PER_S;
        if (publisher->tokens > publisher->max_tokens)
                publisher->tokens = publisher->max_tokens;
        publisher->filled_mono_ms = now_mono_ms;
}

/* Whose tokens pay for the next patch; NULL: nobody's yet. */
static struct publisher *find_payer(struct publisher *publisher) {
        struct publisher *lender = publisher->options.lender;

        refill_tokens(publisher);
        if (publisher->tokens >= 1)
                return publisher;
        if (!lender || lender->queue.len > 0)
                return NULL;
        refill_tokens(lender);
        return lender->tokens >= 1 + lender->max_tokens / 2 ? lender : NULL;
}

static void await_token(struct publisher *publisher) {
        const struct publisher *lender = publisher->options.lender;
        double wait_ms = (1 - publisher->tokens) * MS_PER_S / publisher->options.patches_per_s;

        if (lender)
                wait_ms = fmin(wait_ms, MS_PER_S / lender->options.patches_per_s);
        loop_timer_arm(publisher->options.daemon->loop, &publisher->timer,
                       publisher_now(publisher) + (int64_t)wait_ms + 1, publisher_run, publisher);
}

static void send_queued(struct publisher *publisher) {
        struct publisher *payer;

        while (publisher->in_flight < publisher->options.max_in_flight &&
               (payer = find_payer(publisher))) {
                struct patch_place *place = patch_queue_pop(&publisher->queue);
                struct publisher_job *job = (struct publisher_job *)place; /* its first member */
                if (!job)
                        break;
                buf_clear(&publisher->patch);
                if (!publisher->options.on_turn(publisher->options.userdata, job,
                                                &publisher->patch))
                        continue;
                payer->tokens -= 1;
                send_patch(publisher, job);
        }
        if (publisher->queue.len > 0 && publisher->tokens < 1)
                await_token(publisher);
}

static void publisher_run(void *userdata) {
        struct publisher *publisher = userdata;

        if (publisher_now(publisher) < publisher->paused_until_mono_ms)
                loop_timer_arm(publisher->options.daemon->loop, &publisher->timer,
                               publisher->paused_until_mono_ms, publisher_run, publisher);
        else
                send_queued(publisher);
        if (publisher->options.on_idle && publisher_is_idle(publisher))
                publisher->options.on_idle(publisher->options.userdata);
}

/* On the next turn of the loop: the caller is not called back from within its call. */
static void publisher_wake(struct publisher *publisher) {
        if (!loop_timer_is_armed(&publisher->timer))
                loop_timer_arm(publisher->options.daemon->loop, &publisher->timer,
                               publisher_now(publisher), publisher_run, publisher);
}

void publisher_add(struct publisher *publisher, struct publisher_job *job, const char *name) {
        job->publisher = publisher;
        job->node = name;
        TAILQ_INSERT_TAIL(&publisher->jobs, job, link);
        publisher->job_count++;
}

void publisher_remove(struct publisher_job *job) {
        publisher_cancel(job);
        TAILQ_REMOVE(&job->publisher->jobs, job, link);
        job->publisher->job_count--;
}

void publisher_push(struct publisher_job *job, unsigned urgency) {
        if (job->call)
                return;
        if (!job->place.is_queued)
                publisher_wake(job->publisher);
        patch_queue_put(&job->publisher->queue, &job->place, urgency);
}

void publisher_unwanted(struct publisher_job *job) {
        struct publisher *publisher = job->publisher;

        if (!job->is_failing)
                return;
        job->is_failing = false;
        outage_log_gone(&publisher->outages);
        if (publisher->outages.failing > 0)
                return;
        /* Perhaps nothing is patched for a long time, and so nothing succeeds. */
        publisher->failed = 0;
        publisher->trouble[0] = '\0';
}

void publisher_cancel(struct publisher_job *job) {
        struct publisher *publisher = job->publisher;

        publisher_unwanted(job);
        if (!job->call && !job->place.is_queued)
                return;
        patch_queue_drop(&publisher->queue, &job->place);
        publisher->in_flight -= job->call != NULL;
        kube_cancel(TAKE_PTR(job->call));
        publisher_wake(publisher);
}

void publisher_cancel_all(struct publisher *publisher) {
        struct publisher_job *job;

        TAILQ_FOREACH (job, &publisher->jobs, link)
                publisher_cancel(job);
}

void publisher_drop_queue(struct publisher *publisher) {
        if (publisher->queue.len > 0)
                publisher_wake(publisher);
        while (patch_queue_pop(&publisher->queue))
                ;
}

bool publisher_tick(struct publisher *publisher) {
        int64_t now_mono_ms = publisher_now(publisher);

        outage_log_tick(&publisher->outages, now_mono_ms);
        if (now_mono_ms < publisher->look_mono_ms)
                return false;
        publisher->look_mono_ms = now_mono_ms + (int64_t)(publisher->job_count / NODES_PER_MS);
        return true;
}

bool publisher_is_idle(const struct publisher *publisher) {
        return publisher->queue.len == 0 && publisher->in_flight == 0;
}
