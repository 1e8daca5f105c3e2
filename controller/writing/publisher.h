/*
 * Sends patches to nodes, limited in patches per second and in flight. A patch is composed only
 * when it is its turn to be sent, so that its values do not age in the queue.
 *
 * Patches are of kinds: annotations, taints, offers. Of one kind the most urgent goes first
 * (patch_queue.h); of several kinds, the first. Ten patches of the first kind earn one
 * of the others, on top of the rate: so the others never delay the first, and never starve. What
 * fails of one kind (patch_failures.h), or hangs, does not hold up the others: after a run of
 * denials (401, 403) only that kind pauses between attempts.
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

/* The patches of one kind of one node; embedded in its owner, which may read the members. */
struct publisher_job {
        struct patch_place place; /* in the queue; its first member */
        TAILQ_ENTRY(publisher_job) link;
        const char *node;
        const char *uid;          /* set by the owner, who puts it into patches; NULL: not known */
        const char *content_type; /* set by the owner; NULL: application/merge-patch+json */
        bool is_of_status; /* set by the owner: the subresource is patched, not the Node itself */
        struct patch_kind *kind;
        struct kube_call *call; /* NULL: no patch is in flight */
        bool is_failing;        /* the last patch failed */
        struct backoff backoff;
        int64_t retry_mono_ms; /* not sent before */
};

TAILQ_HEAD(publisher_jobs, publisher_job);

struct patch_kind_options {
        const char *what;     /* is patched, for the log; static text */
        size_t max_in_flight; /* > 0 */
        int64_t max_retry_ms; /* > 0; see publisher_push() */
        /* The job's turn: append the patch. false: nothing is sent. */
        bool (*on_turn)(void *userdata, struct publisher_job *job, struct buf *patch);
        /* The API server has answered; the job is idle and may be pushed again. */
        void (*on_done)(void *userdata, struct publisher_job *job, enum patch_outcome outcome);
        void *userdata;
};

struct patch_kind {
        /* Its owner may read these. */
        struct publisher_jobs jobs; /* all that were added */
        size_t job_count;
        struct patch_queue queue; /* those that wait */
        struct patch_failures failures;

        struct patch_kind_options options;
        struct publisher *publisher;
        size_t in_flight;
        int64_t look_mono_ms; /* its owner looks at all jobs then */
};

struct publisher_options {
        const struct daemon *daemon; /* without an API client nothing is ever pushed */
        double patches_per_s;        /* > 0 */
        struct kube_fence fence;     /* of every patch */
        /* Nothing is queued or in flight any more; perhaps more than once. May be NULL. */
        void (*on_idle)(void *userdata);
        void *userdata;
};

struct publisher;

struct publisher *publisher_new(const struct publisher_options *options);
/** publisher_free() - with every job idle, or removed */
void publisher_free(struct publisher *publisher);

/** publisher_add_kind() - owned by @publisher */
struct patch_kind *publisher_add_kind(struct publisher *publisher,
                                      const struct patch_kind_options *options);
/** publisher_in_flight() - how many patches to have in flight at @patches_per_s: those of a third
 * of a second, by which an API server has answered. More would only wait there */
size_t publisher_in_flight(double patches_per_s);

/** publisher_add() - an idle @job, of the node @name, which is borrowed until publisher_remove() */
void publisher_add(struct patch_kind *kind, struct publisher_job *job, const char *name);
/** publisher_remove() - cancels it, too */
void publisher_remove(struct publisher_job *job);

/**
 * publisher_push() - queue a job, or give it another urgency when it is queued
 *
 * Nothing happens while it is in flight, nor for some time after it has failed: 5 to 10 s, and up
 * to twice as long after each further failure, but no longer than 5 s + max_retry_ms.
 * @urgency: below PATCH_QUEUE_URGENCIES
 */
void publisher_push(struct publisher_job *job, unsigned urgency);
/** publisher_unwanted() - its node needs no patch now, so it does not count as failing any more; a
 * patch in flight goes on */
void publisher_unwanted(struct publisher_job *job);
/** publisher_cancel() - the job is idle when this returns, without on_done(), and does not count as
 * failing */
void publisher_cancel(struct publisher_job *job);
/** publisher_cancel_all() - every job of every kind */
void publisher_cancel_all(struct publisher *publisher);
/** publisher_drop_queue() - no queued job is sent; patches in flight continue */
void publisher_drop_queue(struct publisher *publisher);

/** publisher_tick() - every second or so: log what was held back */
void publisher_tick(struct publisher *publisher);
/** publisher_may_look() - may the owner look at all jobs of the kind now? Every second or so; less
 * often if there are very many */
bool publisher_may_look(struct patch_kind *kind);
/** publisher_now() - of its loop; monotonic, in ms */
int64_t publisher_now(const struct patch_kind *kind);
/** publisher_is_idle() - nothing is queued or in flight */
bool publisher_is_idle(const struct publisher *publisher);
/** publisher_trouble() - of the first kind that has trouble; "" */
const char *publisher_trouble(const struct publisher *publisher);
