/*
 * Sends patches to nodes, the most urgent ones first (patch_queue.h), limited in patches per
 * second and in flight. A patch is composed only when it is its turn to be sent, so that its values
 * do not age in the queue. After a run of denials (401, 403) it pauses between attempts. It logs
 * when the patches of a node begin to fail, and when one succeeds again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/writing/patch_queue.h"
#include "daemon/daemon.h"
#include "kube/kube_api.h"
#include "program/outage_log.h"

enum { PUBLISHER_MAX_PATCH_BYTES = 64 << 10 };

/* The patches of one node; embedded in its owner, which may read the members. */
struct publisher_job {
        struct patch_place place; /* in the queue; its first member */
        TAILQ_ENTRY(publisher_job) link;
        const char *node;
        const char *uid;          /* set by the owner, who puts it into patches; NULL: not known */
        const char *content_type; /* set by the owner; NULL: application/merge-patch+json */
        bool is_of_status; /* set by the owner: the subresource is patched, not the Node itself */
        struct publisher *publisher;
        struct kube_call *call; /* NULL: no patch is in flight */
        bool is_failing;        /* the last patch failed */
};

TAILQ_HEAD(publisher_jobs, publisher_job);

struct publisher_options {
        const char *what;            /* is patched, for the log; static text */
        const struct daemon *daemon; /* without an API client nothing is ever pushed */
        double patches_per_s;        /* > 0; a tenth of this may be sent in one burst */
        /* NULL, or one whose rate this may use, too, while nothing waits there; half of what that
         * may send in one burst is left to it. It lives longer. */
        struct publisher *lender;
        size_t max_in_flight;    /* > 0 */
        struct kube_fence fence; /* of every patch */
        /* The job's turn: append the patch. false: nothing is sent. */
        bool (*on_turn)(void *userdata, struct publisher_job *job, struct buf *patch);
        /* The API server has answered; the job is idle and may be pushed again. */
        void (*on_done)(void *userdata, struct publisher_job *job,
                        const struct kube_answer *answer);
        /* Nothing is queued or in flight any more; perhaps more than once. May be NULL. */
        void (*on_idle)(void *userdata);
        void *userdata;
};

struct publisher {
        /* Its owner may read these. */
        struct publisher_jobs jobs; /* all that were added */
        size_t job_count;
        struct patch_queue queue;    /* those that wait */
        struct outage_log outages;   /* of those whose last patch failed */
        char trouble[ERROR_MSG_MAX]; /* why the last patches failed; "": they did not, or none of
                                        them is wanted any more */

        struct publisher_options options;
        size_t in_flight;
        double max_tokens, tokens;
        int64_t filled_mono_ms;
        size_t denied; /* in a row */
        size_t failed; /* in a row, whatever the reason */
        int64_t paused_until_mono_ms;
        int64_t look_mono_ms; /* its owner looks at all jobs then */
        struct loop_timer timer;
        struct buf patch;
};

/** publisher_in_flight() - how many patches to have in flight at @patches_per_s: those of a third
 * of a second, by which an API server has answered. More would only wait there */
size_t publisher_in_flight(double patches_per_s);

struct publisher *publisher_new(const struct publisher_options *options);
/** publisher_free() - with every job idle, or removed */
void publisher_free(struct publisher *publisher);

/** publisher_add() - an idle @job, of the node @name, which is borrowed until publisher_remove() */
void publisher_add(struct publisher *publisher, struct publisher_job *job, const char *name);
/** publisher_remove() - cancels it, too */
void publisher_remove(struct publisher_job *job);

/** publisher_push() - queue a job; gives it another @urgency when it is queued, does nothing when
 * it is in flight
 * @urgency: below PATCH_QUEUE_URGENCIES */
void publisher_push(struct publisher_job *job, unsigned urgency);
/** publisher_unwanted() - its node needs no patch now, so it does not count as failing any more; a
 * patch in flight goes on */
void publisher_unwanted(struct publisher_job *job);
/** publisher_cancel() - the job is idle when this returns, without on_done(), and does not count as
 * failing */
void publisher_cancel(struct publisher_job *job);
/** publisher_cancel_all() - every job */
void publisher_cancel_all(struct publisher *publisher);
/** publisher_drop_queue() - no queued job is sent; patches in flight continue */
void publisher_drop_queue(struct publisher *publisher);

/** publisher_tick() - every second or so: log what was held back
 * Return: whether the owner may look at all jobs now; less often if there are very many */
bool publisher_tick(struct publisher *publisher);
/** publisher_now() - of its loop; monotonic, in ms */
int64_t publisher_now(const struct publisher *publisher);
/** publisher_is_idle() - nothing is queued or in flight */
bool publisher_is_idle(const struct publisher *publisher);
