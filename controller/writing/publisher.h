/*
 * Sends merge patches to nodes, in the order in which they were asked for, so many a second and so
 * many at a time. What a patch says is decided only when its turn has come, so that waiting makes
 * no value old. When the API server denies one after the other, it is asked only now and then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/loop.h"

enum { PUBLISHER_MAX_PATCH_BYTES = 64 << 10 };

/* Embedded in its owner; all zero but for the node's name (borrowed) is an idle job. */
struct publisher_job {
        const char *node;
        struct publisher_job *prev, *next; /* in the queue, or among those under way */
        struct publisher *publisher;
        struct kube_call *call;
        enum { PUBLISHER_IDLE, PUBLISHER_QUEUED, PUBLISHER_UNDER_WAY } state;
};

struct publisher_events {
        /* The job's turn: append the patch. false: there is no reason any more, nothing is sent. */
        bool (*on_turn)(void *userdata, struct publisher_job *job, struct buf *patch);
        /* The API server's answer; the job is idle and may be pushed again. */
        void (*on_done)(void *userdata, struct publisher_job *job,
                        const struct kube_answer *answer);
        /* Nothing is queued or in flight any more; perhaps more than once. May be NULL. */
        void (*on_idle)(void *userdata);
        void *userdata;
};

struct publisher;

/**
 * publisher_new()
 * @patches_per_s:  > 0; a tenth of a second's worth may go at once
 * @max_in_flight:  > 0
 * @fence:          of its patches
 */
struct publisher *publisher_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                double patches_per_s, size_t max_in_flight, struct kube_fence fence,
                                const struct publisher_events *events);
/** publisher_free() - cancels without events; jobs become idle */
void publisher_free(struct publisher *publisher);
DEFINE_FREEP(struct publisher, publisher_free);

/** publisher_push() - ask for a turn; does nothing when it waits already or is under way */
void publisher_push(struct publisher *publisher, struct publisher_job *job);
/** publisher_cancel() - the job is idle when this returns, without an on_done event */
void publisher_cancel(struct publisher_job *job);
/** publisher_drop_queue() - nobody else gets a turn; what is under way goes on */
void publisher_drop_queue(struct publisher *publisher);
/** publisher_trouble() - why nothing can be written at present, for /readyz; "" when it can */
const char *publisher_trouble(const struct publisher *publisher);

/** publisher_is_idle() - nothing waits, nothing is under way */
bool publisher_is_idle(const struct publisher *publisher);
