#include "controller/source/page/page_pool.h"

#include "base/mem.h"

void page_pool_done(struct page_pool *pool) {
        while (pool->idle_count > 0)
                buf_done(&pool->idle[--pool->idle_count]);
}

struct page_scrape *page_pool_begin(struct page_pool *pool, void *owner) {
        struct page_scrape *scrape = xcalloc(1, sizeof(*scrape));

        scrape->owner = owner;
        scrape->page = BUF_INIT(pool->max_page_bytes);
        LIST_INSERT_HEAD(&pool->under_way, scrape, link);
        return scrape;
}

void page_pool_end(struct page_pool *pool, struct page_scrape *scrape) {
        LIST_REMOVE(scrape, link);
        pool->used_bytes -= scrape->page.cap;
        buf_clear(&scrape->page);
        if (scrape->page.cap > 0 && scrape->page.cap <= PAGE_IDLE_KEPT_BYTES &&
            pool->idle_count < PAGE_IDLE_KEPT)
                pool->idle[pool->idle_count++] = scrape->page;
        else
                buf_done(&scrape->page);
        free(scrape);
}

bool page_pool_append(struct page_pool *pool, struct page_scrape *scrape, const char *data,
                      size_t len) {
        if (scrape->page.cap == 0 && pool->idle_count > 0) {
                scrape->page = pool->idle[--pool->idle_count];
                pool->used_bytes += scrape->page.cap;
        }
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
