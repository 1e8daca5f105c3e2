#include "controller/source/page/page_lanes.h"

#include <assert.h>

#include "base/mem.h"

static const struct {
        size_t least, targets_per_place;
} places[PAGE_LANE_COUNT] = {
        [PAGE_LANE_HEALTHY] = {PAGE_HEALTHY_PLACES, 64},
        [PAGE_LANE_FAILING] = {PAGE_FAILING_PLACES, 512},
};

size_t page_lanes_places(enum page_lane lane, size_t targets) {
        return size_max(places[lane].least, targets / places[lane].targets_per_place);
}

void page_lanes_init(struct page_lanes *lanes) {
        lanes->targets = 0;
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
        for (enum page_lane i = 0; i < PAGE_LANE_COUNT; i++) {
                struct page_place *first = TAILQ_FIRST(&lanes->queues[i].places);
                if (first && lanes->queues[i].in_flight < page_lanes_places(i, lanes->targets)) {
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
