#include "controller/writing/patch_queue.h"

#include <assert.h>

static_assert(PATCH_QUEUE_LEVELS <= 64, "filled has a bit for each level");

void patch_queue_init(struct patch_queue *queue) {
        for (size_t i = 0; i < PATCH_QUEUE_LEVELS; i++)
                TAILQ_INIT(&queue->levels[i]);
        queue->filled = 0;
        queue->len = 0;
}

void patch_queue_drop(struct patch_queue *queue, struct patch_place *place) {
        struct patch_places *places = &queue->levels[place->level];

        if (!place->is_queued)
                return;
        TAILQ_REMOVE(places, place, link);
        if (TAILQ_EMPTY(places))
                queue->filled &= ~(UINT64_C(1) << place->level);
        queue->len--;
        place->is_queued = false;
}

void patch_queue_put(struct patch_queue *queue, struct patch_place *place, unsigned level) {
        assert(level < PATCH_QUEUE_LEVELS);
        if (place->is_queued && place->level == level)
                return;
        patch_queue_drop(queue, place);
        place->level = (uint8_t)level;
        place->is_queued = true;
        TAILQ_INSERT_TAIL(&queue->levels[level], place, link);
        queue->filled |= UINT64_C(1) << level;
        queue->len++;
}

struct patch_place *patch_queue_pop(struct patch_queue *queue) {
        if (queue->filled == 0)
                return NULL;
        struct patch_place *place = TAILQ_FIRST(
                &queue->levels[63 - __builtin_clzll(queue->filled)]);
        patch_queue_drop(queue, place);
        return place;
}
