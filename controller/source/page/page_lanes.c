#include "controller/source/page/page_lanes.h"

#include <assert.h>

static const size_t places[PAGE_LANE_COUNT] = {
        [PAGE_LANE_HEALTHY] = PAGE_HEALTHY_PLACES,
        [PAGE_LANE_FAILING] = PAGE_FAILING_PLACES,
};

void page_lanes_init(struct page_lanes *lanes) {
        for (size_t i = 0; i < PAGE_LANE_COUNT; i++) {
                TAILQ_INIT(&lanes->queues[i].places);
                lanes->queues[i].in_flight = 0;
        }
}

void page_lanes_push(struct page_lanes *lanes, enum page_lane lane, struct page_place *place) {
        assert(!place->queue);
        place->queue = &lanes->queues[lane];
        TAILQ_INSERT_TAIL(&place->queue->places, place, link);
}

void page_lanes_drop(struct page_place *place) {
        if (place->queue)
                TAILQ_REMOVE(&place->queue->places, place, link);
        place->queue = NULL;
}

struct page_place *page_lanes_pop(struct page_lanes *lanes) {
        for (size_t i = 0; i < PAGE_LANE_COUNT; i++) {
                struct page_place *first = TAILQ_FIRST(&lanes->queues[i].places);
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
