/*
 * Sends patches to nodes, those of the highest level first (patch_queue.h), limited in
 * patches per second and in flight. A patch is composed only when it is its turn to be sent, so
 * that its values do not age in the queue. After a run of denials (401, 403) it pauses between
 * attempts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/writing/patch_queue.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/loop.h"

enum { PUBLISHER_MAX_PATCH_BYTES = 64 << 10 };

/* Embedded in its owner. Idle when all zero but for the node's name, which is borrowed. */
struct publisher_job {
        struct patch_place place; /* in the queue; its first member */
        const char *node;
        const struct publisher_events *events; /* instead of the publisher's; NULL: those */
        struct publisher *publisher;
        struct kube_call *call;
        enum { PUBLISHER_IDLE, PUBLISHER_QUEUED, PUBLISHER_IN_FLIGHT } state;
};

struct publisher_events {
        const char *content_type; /* of patches; NULL: application/merge-patch+json */
        /* The job's turn: append the patch. false: nothing is sent. */
        bool (*on_turn)(void *userdata, struct publisher_job *job, struct buf *patch);
        /* The API server has answered; the job is idle and may be pushed again. */
        void (*on_done)(void *userdata, struct publisher_job *job,
                        const struct kube_answer *answer);
        /* Nothing is queued or in flight any more; perhaps more than once. May be NULL. Not of the
         * events of a job. */
        void (*on_idle)(void *userdata);
        void *userdata;
};

struct publisher;

/**
 * publisher_new()
 * @patches_per_s:  > 0; a tenth of this may be sent in one burst
 * @max_in_flight:  > 0
 * @fence:          of every patch
 */
struct publisher *publisher_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                double patches_per_s, size_t max_in_flight, struct kube_fence fence,
                                const struct publisher_events *events);
/** publisher_free() - after every job has been cancelled, or was answered */
void publisher_free(struct publisher *publisher);
DEFINE_FREEP(struct publisher, publisher_free);

/** publisher_push() - queue a job; moves it to @level when it is queued, does nothing when it is in
 * flight
 * @level: below PATCH_QUEUE_LEVELS */
void publisher_push(struct publisher *publisher, struct publisher_job *job, unsigned level);
/** publisher_cancel() - the job is idle when this returns, without an on_done event; nothing
 * happens when it is idle */
void publisher_cancel(struct publisher_job *job);
/** publisher_drop_queue() - cancel all queued jobs; patches in flight continue */
void publisher_drop_queue(struct publisher *publisher);
/** publisher_trouble() - why the last patches failed, for /readyz; "" when they did not */
const char *publisher_trouble(const struct publisher *publisher);

/** publisher_waiting() - jobs that are queued */
size_t publisher_waiting(const struct publisher *publisher);
/** publisher_is_idle() - nothing is queued or in flight */
bool publisher_is_idle(const struct publisher *publisher);
