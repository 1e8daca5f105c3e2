#include "controller/source/page/page_lanes.h"

#include <assert.h>

static const size_t places[PAGE_LANE_COUNT] = {
        [PAGE_LANE_HEALTHY] = PAGE_HEALTHY_PLACES,
        [PAGE_LANE_FAILING] = PAGE_FAILING_PLACES,
};

void page_lanes_push(struct page_lanes *lanes, enum page_lane lane, struct page_place *place) {
        struct page_queue *queue = &lanes->queues[lane];

        assert(!place->queue);
        place->queue = queue;
        place->next = NULL;
        place->prev = queue->last;
        if (queue->last)
                queue->last->next = place;
        else
                queue->first = place;
        queue->last = place;
}

void page_lanes_drop(struct page_place *place) {
        struct page_queue *queue = place->queue;

        if (!queue)
                return;
        if (place->prev)
                place->prev->next = place->next;
        else
                queue->first = place->next;
        if (place->next)
                place->next->prev = place->prev;
        else
                queue->last = place->prev;
        place->prev = place->next = NULL;
        place->queue = NULL;
}

struct page_place *page_lanes_pop(struct page_lanes *lanes) {
        for (size_t i = 0; i < PAGE_LANE_COUNT; i++) {
                struct page_place *first = lanes->queues[i].first;
                if (first && lanes->queues[i].in_flight < places[i]) {
                        page_lanes_drop(first);
                        return first;
                }
        }
        return NULL;
}

void page_lanes_enter(struct page_lanes *lanes, enum page_lane lane) {
        lanes->queues[lane].in_flight++;
}

void page_lanes_leave(struct page_lanes *lanes, enum page_lane lane) {
        assert(lanes->queues[lane].in_flight > 0);
        lanes->queues[lane].in_flight--;
}
