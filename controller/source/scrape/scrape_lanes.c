#include "controller/source/scrape/scrape_lanes.h"

#include <assert.h>

#include "base/mem.h"

static const struct {
        size_t least, targets_per_place;
} places[SCRAPE_LANE_COUNT] = {
        [SCRAPE_LANE_HEALTHY] = {SCRAPE_HEALTHY_PLACES, 64},
        [SCRAPE_LANE_FAILING] = {SCRAPE_FAILING_PLACES, 512},
};

size_t scrape_lanes_places(enum scrape_lane lane, size_t targets) {
        return size_max(places[lane].least, targets / places[lane].targets_per_place);
}

void scrape_lanes_init(struct scrape_lanes *lanes) {
        lanes->targets = 0;
        for (size_t i = 0; i < SCRAPE_LANE_COUNT; i++) {
                TAILQ_INIT(&lanes->queues[i].places);
                lanes->queues[i].in_flight = 0;
        }
}

void scrape_lanes_push(struct scrape_lanes *lanes, enum scrape_lane lane,
                       struct scrape_place *place) {
        assert(!place->queue);
        place->queue = &lanes->queues[lane];
        TAILQ_INSERT_TAIL(&place->queue->places, place, link);
}

void scrape_lanes_drop(struct scrape_place *place) {
        if (place->queue)
                TAILQ_REMOVE(&place->queue->places, place, link);
        place->queue = NULL;
}

struct scrape_place *scrape_lanes_pop(struct scrape_lanes *lanes) {
        for (enum scrape_lane i = 0; i < SCRAPE_LANE_COUNT; i++) {
                struct scrape_place *first = TAILQ_FIRST(&lanes->queues[i].places);
                if (first && lanes->queues[i].in_flight < scrape_lanes_places(i, lanes->targets)) {
                        scrape_lanes_drop(first);
                        return first;
                }
        }
        return NULL;
}

void scrape_lanes_enter(struct scrape_lanes *lanes, enum scrape_lane lane) {
        lanes->queues[lane].in_flight++;
}

void scrape_lanes_leave(struct scrape_lanes *lanes, enum scrape_lane lane) {
        assert(lanes->queues[lane].in_flight > 0);
        lanes->queues[lane].in_flight--;
}
