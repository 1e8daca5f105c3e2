/*
 * Patches that wait for their turn, by level: the highest first; of one level, first come, first
 * served. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { PATCH_QUEUE_LEVELS = 64 };

/* Embedded in its owner; all zero is not queued. */
struct patch_place {
        TAILQ_ENTRY(patch_place) link;
        bool is_queued;
        uint8_t level;
};

TAILQ_HEAD(patch_places, patch_place);

struct patch_queue {
        struct patch_places levels[PATCH_QUEUE_LEVELS];
        uint64_t filled; /* levels with a place, a bit each */
        size_t len;
};

void patch_queue_init(struct patch_queue *queue);
/** patch_queue_put() - queue @place, or move it to another level
 * @level: below PATCH_QUEUE_LEVELS */
void patch_queue_put(struct patch_queue *queue, struct patch_place *place, unsigned level);
/** patch_queue_drop() - nothing happens when it is not queued */
void patch_queue_drop(struct patch_queue *queue, struct patch_place *place);
/** patch_queue_pop() - take out the first of the highest level; NULL: none is there */
struct patch_place *patch_queue_pop(struct patch_queue *queue);
