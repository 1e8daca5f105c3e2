#include "controller/source/scrape/scrape_pool.h"

#include "base/mem.h"

void scrape_pool_done(struct scrape_pool *pool) {
        while (pool->idle_count > 0)
                buf_done(&pool->idle[--pool->idle_count]);
}

struct scrape *scrape_pool_begin(struct scrape_pool *pool, void *owner) {
        struct scrape *scrape = xcalloc(1, sizeof(*scrape));

        scrape->owner = owner;
        scrape->page = BUF_INIT(pool->max_page_bytes);
        LIST_INSERT_HEAD(&pool->under_way, scrape, link);
        return scrape;
}

void scrape_pool_end(struct scrape_pool *pool, struct scrape *scrape) {
        LIST_REMOVE(scrape, link);
        pool->used_bytes -= scrape->page.cap;
        buf_clear(&scrape->page);
        if (scrape->page.cap > 0 && scrape->page.cap <= SCRAPE_IDLE_KEPT_BYTES &&
            pool->idle_count < SCRAPE_IDLE_KEPT)
                pool->idle[pool->idle_count++] = scrape->page;
        else
                buf_done(&scrape->page);
        free(scrape);
}

bool scrape_pool_append(struct scrape_pool *pool, struct scrape *scrape, const char *data,
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

struct scrape *scrape_pool_excess(const struct scrape_pool *pool, struct scrape *scrape) {
        struct scrape *largest = scrape, *other;

        if (pool->used_bytes <= pool->budget_bytes)
                return NULL;
        LIST_FOREACH (other, &pool->under_way, link)
                if (other->page.cap > largest->page.cap)
                        largest = other;
        return largest;
}
