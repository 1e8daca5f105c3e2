/*
 * Scrapes under way and the memory of their pages, which share one budget. A page has no memory
 * before its first byte. That of small pages is reused, the last one first: it is still in the
 * processor's cache.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "controller/source/scrape/scrape_lanes.h"
#include "net/http_client.h"

struct scrape {
        LIST_ENTRY(scrape) link;
        void *owner;            /* what is scraped */
        struct http_call *call; /* NULL: ended */
        struct buf page;
        enum scrape_lane lane;
        bool with_collectors; /* the URL has collect[] */
        bool is_over_budget;
};

LIST_HEAD(scrape_list, scrape);

enum { SCRAPE_IDLE_KEPT = 8, SCRAPE_IDLE_KEPT_BYTES = 256 << 10 };

/* Zero-initialise and set the limits. */
struct scrape_pool {
        size_t max_page_bytes; /* of one page */
        size_t budget_bytes;   /* of all */
        size_t used_bytes;
        struct scrape_list under_way;
        struct buf idle[SCRAPE_IDLE_KEPT]; /* empty ones that have memory */
        size_t idle_count;
};

/** scrape_pool_done() - none is under way */
void scrape_pool_done(struct scrape_pool *pool);

/** scrape_pool_begin() - a scrape with an empty page; borrowed until scrape_pool_end() */
struct scrape *scrape_pool_begin(struct scrape_pool *pool, void *owner);
/** scrape_pool_end() - its call has ended or was cancelled; its page is discarded */
void scrape_pool_end(struct scrape_pool *pool, struct scrape *scrape);

/** scrape_pool_append() - add to a page; false when it would exceed max_page_bytes */
_must_check_ bool scrape_pool_append(struct scrape_pool *pool, struct scrape *scrape,
                                     const char *data, size_t len);
/** scrape_pool_excess() - the largest page when the budget is exceeded, @scrape's of equals; or
 * NULL
 */
struct scrape *scrape_pool_excess(const struct scrape_pool *pool, struct scrape *scrape);
