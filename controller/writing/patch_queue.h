/*
 * A queue of patches: the most urgent first, and first come, first served within an urgency.
 * Pure.
 *
 *   by_urgency  [63] -> place of node a -> place of node b     a, b, then c are sent
 *               [62]    (empty)
 *                ...
 *               [ 5] -> place of node c
 *                ...
 *   filled      1 0 ... 1 ... 0     bits 63 to 0; the highest set bit is the next list
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { PATCH_QUEUE_URGENCIES = 64 };

/* Embedded in its owner. Zero-initialised: not queued. */
struct patch_place {
        TAILQ_ENTRY(patch_place) link;
        bool is_queued;
        uint8_t urgency;
};

TAILQ_HEAD(patch_places, patch_place);

struct patch_queue {
        struct patch_places by_urgency[PATCH_QUEUE_URGENCIES];
        uint64_t filled; /* urgencies with at least one place, a bit each */
        size_t len;
};

void patch_queue_init(struct patch_queue *queue);
/** patch_queue_put() - queue @place, or move it to the end of another urgency's list
 * @urgency: below PATCH_QUEUE_URGENCIES */
void patch_queue_put(struct patch_queue *queue, struct patch_place *place, unsigned urgency);
/** patch_queue_drop() - does nothing if @place is not queued */
void patch_queue_drop(struct patch_queue *queue, struct patch_place *place);
/** patch_queue_pop() - remove the first of the most urgent places; NULL if the queue is empty */
struct patch_place *patch_queue_pop(struct patch_queue *queue);
