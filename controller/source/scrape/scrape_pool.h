/*
 * Scrapes that wait for a place, those under way, and the memory of their pages.
 *
 * There are two lanes: one for healthy targets, one with few places for those that failed last
 * time. However many of the failing ones hang until their timeout, places for the healthy ones stay
 * free. The places follow the number of targets: each is enough for 64 healthy ones, or 512 failing
 * ones.
 *
 * The pages under way share one budget. A page has no memory before its first byte. That of small
 * pages is reused, the last one first: it is still in the processor's cache.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/http_client.h"

enum scrape_lane { SCRAPE_LANE_HEALTHY, SCRAPE_LANE_FAILING, SCRAPE_LANE_COUNT };

enum {
        /* Scrapes under way, at least; see scrape_pool_places(). */
        SCRAPE_HEALTHY_PLACES = 256,
        SCRAPE_FAILING_PLACES = 32,
        /* Of the budget, for each healthy place; it has room for two of the largest pages, too. */
        SCRAPE_BUDGET_BYTES = 128 << 10,
        SCRAPE_IDLE_KEPT = 8,
        SCRAPE_IDLE_KEPT_BYTES = 256 << 10,
};

/* Of one target, embedded in it. Zero-initialise and set the owner: it is idle. */
struct scrape {
        void *owner; /* what is scraped */
        enum { SCRAPE_IDLE, SCRAPE_WAITING, SCRAPE_UNDER_WAY } phase;
        enum scrape_lane lane;    /* unless it is idle */
        TAILQ_ENTRY(scrape) link; /* unless it is idle: in its lane's queue, or under_way */
        struct http_call *call;   /* NULL: none, or ended */
        struct buf page;
        bool with_collectors; /* the URL has collect[] */
        bool is_over_budget;
        bool is_to_other_address; /* than the target's usual one, which has refused just now */
        bool is_of_last_policy;   /* the URL asks for what the policy before wants */
};

TAILQ_HEAD(scrape_list, scrape);

struct scrape_pool {
        size_t targets; /* set by the owner at any time */
        size_t max_page_bytes;
        size_t used_bytes; /* of all pages */
        struct scrape_list waiting[SCRAPE_LANE_COUNT], under_way;
        size_t in_flight[SCRAPE_LANE_COUNT];
        struct buf idle[SCRAPE_IDLE_KEPT]; /* empty ones that have memory */
        size_t idle_count;
};

void scrape_pool_init(struct scrape_pool *pool, size_t max_page_bytes);
/** scrape_pool_done() - none is under way */
void scrape_pool_done(struct scrape_pool *pool);
/** scrape_pool_places() - how many scrapes of a lane may be under way with so many targets */
size_t scrape_pool_places(enum scrape_lane lane, size_t targets);

/** scrape_pool_wait() - @scrape, which is idle, waits in @lane */
void scrape_pool_wait(struct scrape_pool *pool, struct scrape *scrape, enum scrape_lane lane);
/** scrape_pool_next() - take the next scrape whose lane has a free place, healthy ones first: it is
 * under way then; NULL: there is none */
struct scrape *scrape_pool_next(struct scrape_pool *pool);
/** scrape_pool_end() - make it idle, whatever it was. Its call has ended or was cancelled; its page
 * is discarded */
void scrape_pool_end(struct scrape_pool *pool, struct scrape *scrape);

/** scrape_pool_append() - add to a page; false when it would exceed max_page_bytes */
_must_check_ bool scrape_pool_append(struct scrape_pool *pool, struct scrape *scrape,
                                     const char *data, size_t len);
/** scrape_pool_excess() - the largest page when the budget is exceeded, @scrape's of equals; or
 * NULL */
struct scrape *scrape_pool_excess(const struct scrape_pool *pool, struct scrape *scrape);
