#include "controller/source/scrape/scrape_pool.h"

#include <assert.h>

#include "base/mem.h"

enum { TARGETS_PER_PLACE = 64 };

size_t scrape_pool_places(enum scrape_lane lane, size_t targets) {
        size_t least = lane == SCRAPE_LANE_HEALTHY ? SCRAPE_HEALTHY_PLACES : SCRAPE_FAILING_PLACES;

        return size_max(least, targets / TARGETS_PER_PLACE);
}

void scrape_pool_init(struct scrape_pool *pool, size_t max_page_bytes) {
        *pool = (struct scrape_pool){.max_page_bytes = max_page_bytes};
        for (size_t i = 0; i < SCRAPE_LANE_COUNT; i++)
                TAILQ_INIT(&pool->waiting[i]);
        TAILQ_INIT(&pool->under_way);
}

void scrape_pool_done(struct scrape_pool *pool) {
        while (pool->idle_count > 0)
                buf_done(&pool->idle[--pool->idle_count]);
}

void scrape_pool_wait(struct scrape_pool *pool, struct scrape *scrape, enum scrape_lane lane) {
        assert(scrape->phase == SCRAPE_IDLE);
        scrape->phase = SCRAPE_WAITING;
        scrape->lane = lane;
        TAILQ_INSERT_TAIL(&pool->waiting[lane], scrape, link);
}

struct scrape *scrape_pool_next(struct scrape_pool *pool) {
        for (enum scrape_lane i = 0; i < SCRAPE_LANE_COUNT; i++) {
                struct scrape *first = TAILQ_FIRST(&pool->waiting[i]);
                if (!first || pool->in_flight[i] >= scrape_pool_places(i, pool->targets))
                        continue;
                TAILQ_REMOVE(&pool->waiting[i], first, link);
                TAILQ_INSERT_HEAD(&pool->under_way, first, link);
                pool->in_flight[i]++;
                first->phase = SCRAPE_UNDER_WAY;
                first->page = BUF_INIT(pool->max_page_bytes);
                first->is_over_budget = false;
                return first;
        }
        return NULL;
}

static void discard_page(struct scrape_pool *pool, struct buf *page) {
        pool->used_bytes -= page->cap;
        buf_clear(page);
        if (page->cap > 0 && page->cap <= SCRAPE_IDLE_KEPT_BYTES &&
            pool->idle_count < SCRAPE_IDLE_KEPT)
                pool->idle[pool->idle_count++] = *page;
        else
                buf_done(page);
        *page = (struct buf){0};
}

void scrape_pool_end(struct scrape_pool *pool, struct scrape *scrape) {
        if (scrape->phase == SCRAPE_WAITING) {
                TAILQ_REMOVE(&pool->waiting[scrape->lane], scrape, link);
        } else if (scrape->phase == SCRAPE_UNDER_WAY) {
                TAILQ_REMOVE(&pool->under_way, scrape, link);
                pool->in_flight[scrape->lane]--;
                discard_page(pool, &scrape->page);
        }
        scrape->phase = SCRAPE_IDLE;
}

void scrape_pool_append(struct scrape_pool *pool, struct scrape *scrape, const char *data,
                        size_t len) {
        if (scrape->page.cap == 0 && pool->idle_count > 0) {
                scrape->page = pool->idle[--pool->idle_count];
                pool->used_bytes += scrape->page.cap;
        }
        size_t before = scrape->page.cap;
        (void)buf_append(&scrape->page, data, len);

        pool->used_bytes += scrape->page.cap - before;
}

struct scrape *scrape_pool_excess(const struct scrape_pool *pool, struct scrape *scrape) {
        size_t budget_bytes = scrape_pool_places(SCRAPE_LANE_HEALTHY, pool->targets) *
                              SCRAPE_BUDGET_BYTES;
        struct scrape *largest = scrape, *other;

        if (pool->used_bytes <= size_max(budget_bytes, 2 * pool->max_page_bytes))
                return NULL;
        TAILQ_FOREACH (other, &pool->under_way, link)
                if (other->page.cap > largest->page.cap)
                        largest = other;
        return largest;
}
