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

enum page_lane { PAGE_LANE_HEALTHY, PAGE_LANE_FAILING, PAGE_LANE_COUNT };

/* Scrapes under way, at least; see page_lanes_places(). */
enum { PAGE_HEALTHY_PLACES = 256, PAGE_FAILING_PLACES = 32 };

/* Embedded in what waits; all zero but for the owner is not queued. */
struct page_place {
        void *owner;
        TAILQ_ENTRY(page_place) link;
        struct page_queue *queue; /* it waits in; NULL: none */
};

TAILQ_HEAD(page_place_list, page_place);

struct page_queue {
        struct page_place_list places;
        size_t in_flight;
};

struct page_lanes {
        struct page_queue queues[PAGE_LANE_COUNT];
        size_t targets; /* set by the owner at any time */
};

void page_lanes_init(struct page_lanes *lanes);
/** page_lanes_places() - how many scrapes of a lane may be under way with so many targets */
size_t page_lanes_places(enum page_lane lane, size_t targets);

/** page_lanes_push() - wait; must not wait already */
void page_lanes_push(struct page_lanes *lanes, enum page_lane lane, struct page_place *place);
/** page_lanes_drop() - wait no more, if it does */
void page_lanes_drop(struct page_place *place);
/** page_lanes_pop() - the next whose lane has a place free, healthy ones first; NULL: none */
struct page_place *page_lanes_pop(struct page_lanes *lanes);

static inline bool page_place_is_queued(const struct page_place *place) {
        return place->queue != NULL;
}

/** page_lanes_enter(), page_lanes_leave() - a scrape takes a place of @lane, and gives it back */
void page_lanes_enter(struct page_lanes *lanes, enum page_lane lane);
void page_lanes_leave(struct page_lanes *lanes, enum page_lane lane);
