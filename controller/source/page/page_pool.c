#include "controller/source/page/page_pool.h"

#include "base/mem.h"

enum { IDLE_SCRAPES_KEPT = 8, IDLE_PAGE_KEPT_BYTES = 256 << 10 };

static void scrape_free(struct page_scrape *scrape) {
        buf_done(&scrape->page);
        free(scrape);
}

void page_pool_done(struct page_pool *pool) {
        struct page_scrape *scrape;

        while ((scrape = LIST_FIRST(&pool->idle)) != NULL) {
                LIST_REMOVE(scrape, link);
                scrape_free(scrape);
        }
}

struct page_scrape *page_pool_begin(struct page_pool *pool, void *owner) {
        struct page_scrape *scrape = LIST_FIRST(&pool->idle);
        struct buf page = BUF_INIT(pool->max_page_bytes);

        if (scrape) {
                LIST_REMOVE(scrape, link);
                pool->idle_count--;
                page = scrape->page;
        } else {
                scrape = xcalloc(1, sizeof(*scrape));
        }
        *scrape = (struct page_scrape){.owner = owner, .page = page};
        LIST_INSERT_HEAD(&pool->under_way, scrape, link);
        pool->used_bytes += scrape->page.cap;
        return scrape;
}

void page_pool_end(struct page_pool *pool, struct page_scrape *scrape) {
        LIST_REMOVE(scrape, link);
        pool->used_bytes -= scrape->page.cap;
        buf_clear(&scrape->page);
        if (scrape->page.cap > IDLE_PAGE_KEPT_BYTES || pool->idle_count >= IDLE_SCRAPES_KEPT) {
                scrape_free(scrape);
                return;
        }
        LIST_INSERT_HEAD(&pool->idle, scrape, link);
        pool->idle_count++;
}

bool page_pool_append(struct page_pool *pool, struct page_scrape *scrape, const char *data,
                      size_t len) {
        size_t before = scrape->page.cap;
        bool has_room = buf_append(&scrape->page, data, len);

        pool->used_bytes += scrape->page.cap - before;
        return has_room;
}

struct page_scrape *page_pool_excess(const struct page_pool *pool, struct page_scrape *scrape) {
        struct page_scrape *largest = scrape, *other;

        if (pool->used_bytes <= pool->budget_bytes)
                return NULL;
        LIST_FOREACH (other, &pool->under_way, link)
                if (other->page.cap > largest->page.cap)
                        largest = other;
        return largest;
}
