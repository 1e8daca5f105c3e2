#include "controller/writing/patch_queue.h"

#include <assert.h>

static_assert(PATCH_QUEUE_URGENCIES <= 64, "filled has a bit for each urgency");

void patch_queue_init(struct patch_queue *queue) {
        for (size_t i = 0; i < PATCH_QUEUE_URGENCIES; i++)
                TAILQ_INIT(&queue->by_urgency[i]);
        queue->filled = 0;
        queue->len = 0;
}

void patch_queue_drop(struct patch_queue *queue, struct patch_place *place) {
        struct patch_places *places = &queue->by_urgency[place->urgency];

        if (!place->is_queued)
                return;
        TAILQ_REMOVE(places, place, link);
        if (TAILQ_EMPTY(places))
                queue->filled &= ~(UINT64_C(1) << place->urgency);
        queue->len--;
        place->is_queued = false;
}

void patch_queue_put(struct patch_queue *queue, struct patch_place *place, unsigned urgency) {
        assert(urgency < PATCH_QUEUE_URGENCIES);
        if (place->is_queued && place->urgency == urgency)
                return;
        patch_queue_drop(queue, place);
        place->urgency = (uint8_t)urgency;
        place->is_queued = true;
        TAILQ_INSERT_TAIL(&queue->by_urgency[urgency], place, link);
        queue->filled |= UINT64_C(1) << urgency;
        queue->len++;
}

struct patch_place *patch_queue_pop(struct patch_queue *queue) {
        if (queue->filled == 0)
                return NULL;
        struct patch_place *place = TAILQ_FIRST(
                &queue->by_urgency[63 - __builtin_clzll(queue->filled)]);
        patch_queue_drop(queue, place);
        return place;
}
