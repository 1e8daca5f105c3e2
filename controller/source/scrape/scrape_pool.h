/*
 * Scrapes that wait for a place, scrapes in flight, and the memory of their pages.
 *
 * There are two lanes: one for healthy targets, and one with few places for targets that failed
 * last time. However many failing targets hang until their timeout, places for healthy targets stay
 * free. The number of places grows with the number of targets: one for 64 of them in each lane.
 *
 * All pages in flight share one memory budget. A page has no memory before its first byte. The
 * memory of small pages is reused, starting with the last one, which is still in the processor's
 * cache.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "net/http_client.h"

enum scrape_lane { SCRAPE_LANE_HEALTHY, SCRAPE_LANE_FAILING, SCRAPE_LANE_COUNT };

enum {
        /* The minimum number of places; see scrape_pool_places(). */
        SCRAPE_HEALTHY_PLACES = 256,
        SCRAPE_FAILING_PLACES = 32,
        /* The budget per healthy place; the whole budget also has room for two of the largest
           pages. */
        SCRAPE_BUDGET_BYTES = 128 << 10,
        SCRAPE_IDLE_KEPT = 8,
        SCRAPE_IDLE_KEPT_BYTES = 256 << 10,
};

/* Embedded in its target. Zero-initialised, with the owner set, it is idle. */
struct scrape {
        void *owner; /* the target */
        enum { SCRAPE_IDLE, SCRAPE_WAITING, SCRAPE_UNDER_WAY } phase;
        enum scrape_lane lane;    /* unless it is idle */
        TAILQ_ENTRY(scrape) link; /* unless it is idle: in its lane's queue, or under_way */
        struct http_call *call;   /* NULL: none, or ended */
        struct buf page;
        bool with_collectors; /* the URL has collect[] */
        bool is_over_budget;
        bool is_to_other_address; /* the target's usual address has just refused */
};

TAILQ_HEAD(scrape_list, scrape);

struct scrape_pool {
        size_t targets; /* set by the owner at any time */
        size_t max_page_bytes;
        size_t used_bytes; /* of all pages */
        struct scrape_list waiting[SCRAPE_LANE_COUNT], under_way;
        size_t in_flight[SCRAPE_LANE_COUNT];
        struct buf idle[SCRAPE_IDLE_KEPT]; /* empty pages with memory */
        size_t idle_count;
};

void scrape_pool_init(struct scrape_pool *pool, size_t max_page_bytes);
/** scrape_pool_done() - no scrape may be in flight */
void scrape_pool_done(struct scrape_pool *pool);
/** scrape_pool_places() - how many scrapes of a lane may be in flight */
size_t scrape_pool_places(enum scrape_lane lane, size_t targets);

/** scrape_pool_wait() - let the idle @scrape wait in @lane */
void scrape_pool_wait(struct scrape_pool *pool, struct scrape *scrape, enum scrape_lane lane);
/** scrape_pool_next() - start the next scrape whose lane has a free place, healthy targets first;
 * NULL: there is none */
struct scrape *scrape_pool_next(struct scrape_pool *pool);
/** scrape_pool_end() - make it idle from any phase. Its call has ended or was cancelled. Its page
 * is discarded */
void scrape_pool_end(struct scrape_pool *pool, struct scrape *scrape);

/** scrape_pool_append() - add to a page, which may not exceed max_page_bytes: see struct
 * http_request */
void scrape_pool_append(struct scrape_pool *pool, struct scrape *scrape, const char *data,
                        size_t len);
/** scrape_pool_excess() - the scrape with the largest page if the budget is exceeded, or NULL.
 * Among equals, @scrape is preferred */
struct scrape *scrape_pool_excess(const struct scrape_pool *pool, struct scrape *scrape);
