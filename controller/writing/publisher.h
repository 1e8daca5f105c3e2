/*
 * Sends patches to nodes, with a limit per second and a limit in flight. A patch is composed when
 * it is sent, so its values do not age in the queue.
 *
 * There are several kinds of patches: annotations, taints, offers. Within a kind, the most urgent
 * patch goes first (patch_queue.h). The first kind takes precedence over the others; ten of its
 * patches earn one patch of another kind, on top of the rate. So the other kinds never delay the
 * first, and never starve. Kinds fail separately (patch_failures.h): after a run of denials (401,
 * 403), only the denied kind pauses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/writing/patch_failures.h"
#include "controller/writing/patch_queue.h"
#include "daemon/daemon.h"
#include "kube/backoff.h"
#include "kube/kube_api.h"

enum { PUBLISHER_MAX_PATCH_BYTES = 64 << 10, PUBLISHER_MAX_KINDS = 3 };

/* One kind of patch of one node; embedded in its owner, which may read the members. */
struct publisher_job {
        struct patch_place place; /* in the queue */
        TAILQ_ENTRY(publisher_job) link;
        const char *node;
        const char *uid;          /* set by the owner, who puts it into patches; NULL: not known */
        const char *content_type; /* set by the owner; NULL: application/merge-patch+json */
        bool is_of_status;        /* set by the owner: patch the subresource `status` */
        struct patch_kind *kind;
        struct kube_call *call; /* NULL: no patch is in flight */
        bool is_failing;        /* the last patch failed */
        struct backoff backoff;
        int64_t retry_mono_ms; /* not queued again before this time */
        /* Its owner leaves the node as it is until then, unless it knows better. */
        int64_t grace_until_mono_ms;
};

TAILQ_HEAD(publisher_jobs, publisher_job);

struct patch_kind_options {
        const char *what;     /* what is patched, for the log; static text */
        size_t max_in_flight; /* > 0 */
        int64_t max_retry_ms; /* > 0; see publisher_push() */
        /* Append the job's patch; false: there is nothing to send. */
        bool (*compose)(struct publisher_job *job, struct buf *patch);
        /* The API server has answered. The job is idle, and may be pushed again. */
        void (*on_done)(struct publisher_job *job, enum patch_outcome outcome);
};

struct patch_kind {
        /* Its owner may read these. */
        struct publisher_jobs jobs; /* of all nodes */
        size_t job_count;
        struct patch_queue queue; /* jobs that wait */
        struct patch_failures failures;

        struct patch_kind_options options;
        struct publisher *publisher;
        size_t in_flight;
        int64_t look_mono_ms; /* see publisher_may_look() */
};

struct publisher_options {
        const struct daemon *daemon; /* without an API client nothing is ever pushed */
        double patches_per_s;        /* > 0 */
        struct kube_fence fence;     /* for every patch */
        /* Nothing is queued or in flight. May be called repeatedly; may be NULL. */
        void (*on_idle)(void *userdata);
        void *userdata;
};

struct publisher;

struct publisher *publisher_new(const struct publisher_options *options);
/** publisher_free() - after every job is idle or removed */
void publisher_free(struct publisher *publisher);

/** publisher_add_kind() - owned by @publisher */
struct patch_kind *publisher_add_kind(struct publisher *publisher,
                                      const struct patch_kind_options *options);
/** publisher_in_flight() - how many patches to have in flight: as many as are sent in a third of a
 * second, in which an API server usually answers */
size_t publisher_in_flight(double patches_per_s);

/** publisher_add() - add an idle @job; @name, the node, is borrowed until publisher_remove() */
void publisher_add(struct patch_kind *kind, struct publisher_job *job, const char *name);
/** publisher_remove() - cancel and remove @job */
void publisher_remove(struct publisher_job *job);
/** publisher_grant() - begin a period of grace */
void publisher_grant(struct publisher_job *job, int64_t grace_ms);

/**
 * publisher_push() - queue a job, or change the urgency of a queued one
 *
 * Does nothing while the job is in flight, or has failed a short time ago. That time is 5 to 10 s,
 * doubles with each further failure, and is never longer than max_retry_ms and 5 s.
 * @urgency: below PATCH_QUEUE_URGENCIES
 */
void publisher_push(struct publisher_job *job, unsigned urgency);
/** publisher_unwanted() - the node needs no patch now, and no longer counts as failing; a patch in
 * flight goes on */
void publisher_unwanted(struct publisher_job *job);
/** publisher_cancel() - make the job idle without calling on_done(); it no longer counts as failing
 */
void publisher_cancel(struct publisher_job *job);
/** publisher_cancel_all() - cancel every job of every kind */
void publisher_cancel_all(struct publisher *publisher);
/** publisher_drop_queue() - empty the queue; patches in flight go on */
void publisher_drop_queue(struct publisher *publisher);

/** publisher_tick() - call every second or so: logs summaries */
void publisher_tick(struct publisher *publisher);
/** publisher_may_look() - may the owner look at all jobs of the kind now? Less often than once a
 * second if there are very many */
bool publisher_may_look(struct patch_kind *kind);
/** publisher_look_no_more() - no job can become due: publisher_may_look() is false until
 * publisher_look_again()
 */
void publisher_look_no_more(struct patch_kind *kind);
void publisher_look_again(struct patch_kind *kind);
/** publisher_now() - the loop's monotonic time */
int64_t publisher_now(const struct patch_kind *kind);
/** publisher_is_idle() - nothing is queued or in flight */
bool publisher_is_idle(const struct publisher *publisher);
/** publisher_trouble() - why the first kind in trouble fails; "" if all are fine */
const char *publisher_trouble(const struct publisher *publisher);
