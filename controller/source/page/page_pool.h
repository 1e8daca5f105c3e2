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
#include "controller/source/page/page_lanes.h"
#include "net/http_client.h"

struct page_scrape {
        LIST_ENTRY(page_scrape) link;
        void *owner;            /* what is scraped */
        struct http_call *call; /* NULL: ended */
        struct buf page;
        enum page_lane lane;
        bool with_collectors; /* the URL has collect[] */
        bool is_over_budget;
};

LIST_HEAD(page_scrape_list, page_scrape);

enum { PAGE_IDLE_KEPT = 8, PAGE_IDLE_KEPT_BYTES = 256 << 10 };

/* Zero-initialise and set the limits. */
struct page_pool {
        size_t max_page_bytes; /* of one page */
        size_t budget_bytes;   /* of all */
        size_t used_bytes;
        struct page_scrape_list under_way;
        struct buf idle[PAGE_IDLE_KEPT]; /* empty ones that have memory */
        size_t idle_count;
};

/** page_pool_done() - none is under way */
void page_pool_done(struct page_pool *pool);

/** page_pool_begin() - a scrape with an empty page; borrowed until page_pool_end() */
struct page_scrape *page_pool_begin(struct page_pool *pool, void *owner);
/** page_pool_end() - its call has ended or was cancelled; its page is discarded */
void page_pool_end(struct page_pool *pool, struct page_scrape *scrape);

/** page_pool_append() - add to a page; false when it would exceed max_page_bytes */
_must_check_ bool page_pool_append(struct page_pool *pool, struct page_scrape *scrape,
                                   const char *data, size_t len);
/** page_pool_excess() - the largest page when the budget is exceeded, @scrape's of equals; or NULL
 */
struct page_scrape *page_pool_excess(const struct page_pool *pool, struct page_scrape *scrape);
