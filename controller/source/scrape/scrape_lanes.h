/*
 * Two queues for the places that scrapes take: one for healthy targets, one with few places
 * for those that failed last time. However many of the failing ones hang until their timeout,
 * places for the healthy ones stay free. The places follow the number of targets: each is enough
 * for 64 healthy ones, or 512 failing ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum scrape_lane { SCRAPE_LANE_HEALTHY, SCRAPE_LANE_FAILING, SCRAPE_LANE_COUNT };

/* Scrapes under way, at least; see scrape_lanes_places(). */
enum { SCRAPE_HEALTHY_PLACES = 256, SCRAPE_FAILING_PLACES = 32 };

/* Embedded in what waits; all zero but for the owner is not queued. */
struct scrape_place {
        void *owner;
        TAILQ_ENTRY(scrape_place) link;
        struct scrape_queue *queue; /* it waits in; NULL: none */
};

TAILQ_HEAD(scrape_place_list, scrape_place);

struct scrape_queue {
        struct scrape_place_list places;
        size_t in_flight;
};

struct scrape_lanes {
        struct scrape_queue queues[SCRAPE_LANE_COUNT];
        size_t targets; /* set by the owner at any time */
};

void scrape_lanes_init(struct scrape_lanes *lanes);
/** scrape_lanes_places() - how many scrapes of a lane may be under way with so many targets */
size_t scrape_lanes_places(enum scrape_lane lane, size_t targets);

/** scrape_lanes_push() - wait; must not wait already */
void scrape_lanes_push(struct scrape_lanes *lanes, enum scrape_lane lane,
                       struct scrape_place *place);
/** scrape_lanes_drop() - wait no more, if it does */
void scrape_lanes_drop(struct scrape_place *place);
/** scrape_lanes_pop() - the next whose lane has a place free, healthy ones first; NULL: none */
struct scrape_place *scrape_lanes_pop(struct scrape_lanes *lanes);

static inline bool scrape_place_is_queued(const struct scrape_place *place) {
        return place->queue != NULL;
}

/** scrape_lanes_enter(), scrape_lanes_leave() - a scrape takes a place of @lane, and gives it back
 */
void scrape_lanes_enter(struct scrape_lanes *lanes, enum scrape_lane lane);
void scrape_lanes_leave(struct scrape_lanes *lanes, enum scrape_lane lane);
