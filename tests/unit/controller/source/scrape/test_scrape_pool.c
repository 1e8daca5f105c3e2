/* The memory of pages: taken with the first byte, reused, within limits, and one budget for all. */
#include "tests/unit/fixture/test.h"

#include "controller/source/scrape/scrape_pool.h"

enum { MAX_PAGE_BYTES = 1 << 20, BUDGET_BYTES = 2 << 20, PAGE_BYTES = 20000 };

static char text[MAX_PAGE_BYTES + 1];

static void fill(struct scrape_pool *pool, struct scrape *scrape, size_t len) {
        assert_true(scrape_pool_append(pool, scrape, text, len));
        assert_int_equal(scrape->page.len, len);
}

TEST(memory_is_reused) {
        struct scrape_pool pool = {.max_page_bytes = MAX_PAGE_BYTES, .budget_bytes = BUDGET_BYTES};
        struct scrape *scrapes[SCRAPE_IDLE_KEPT + 2];
        int owner;

        memset(text, 'x', sizeof(text));
        for (size_t i = 0; i < ARRAY_LEN(scrapes); i++) {
                scrapes[i] = scrape_pool_begin(&pool, &owner);
                assert_ptr_equal(scrapes[i]->owner, &owner);
        }
        assert_int_equal(pool.used_bytes, 0); /* nothing has come */

        /* One after the other: all in the same memory. */
        fill(&pool, scrapes[0], PAGE_BYTES);
        const char *memory = scrapes[0]->page.data;
        size_t cap = scrapes[0]->page.cap;
        assert_int_equal(pool.used_bytes, cap);
        scrape_pool_end(&pool, scrapes[0]);
        assert_int_equal(pool.used_bytes, 0);
        fill(&pool, scrapes[1], PAGE_BYTES);
        assert_ptr_equal(scrapes[1]->page.data, memory);
        assert_int_equal(pool.used_bytes, cap);

        /* All at once: some of it is kept. */
        for (size_t i = 2; i < ARRAY_LEN(scrapes); i++)
                fill(&pool, scrapes[i], PAGE_BYTES);
        assert_int_equal(pool.used_bytes, cap * (ARRAY_LEN(scrapes) - 1));
        for (size_t i = 1; i < ARRAY_LEN(scrapes); i++)
                scrape_pool_end(&pool, scrapes[i]);
        assert_int_equal(pool.idle_count, SCRAPE_IDLE_KEPT);
        assert_int_equal(pool.used_bytes, 0);
        scrape_pool_done(&pool);
}

TEST(limits) {
        struct scrape_pool pool = {.max_page_bytes = MAX_PAGE_BYTES, .budget_bytes = BUDGET_BYTES};
        struct scrape *few = scrape_pool_begin(&pool, NULL);
        struct scrape *many = scrape_pool_begin(&pool, NULL);

        fill(&pool, few, PAGE_BYTES);
        scrape_pool_end(&pool, few);
        few = scrape_pool_begin(&pool, NULL);
        fill(&pool, few, 10); /* in memory that was another page's: the limit is the same */
        assert_false(scrape_pool_append(&pool, few, text, MAX_PAGE_BYTES));
        assert_true(few->page.overflow);
        assert_false(scrape_pool_append(&pool, many, text, MAX_PAGE_BYTES + 1));
        assert_int_equal(pool.used_bytes, few->page.cap + many->page.cap);
        scrape_pool_end(&pool, many);

        /* A large page's memory is not kept. */
        many = scrape_pool_begin(&pool, NULL);
        fill(&pool, many, MAX_PAGE_BYTES);
        scrape_pool_end(&pool, many);
        assert_int_equal(pool.idle_count, 0);
        scrape_pool_end(&pool, few);
        assert_int_equal(pool.idle_count, 1);
        scrape_pool_done(&pool);
}

TEST(the_largest_goes_first) {
        struct scrape_pool pool = {.max_page_bytes = MAX_PAGE_BYTES, .budget_bytes = BUDGET_BYTES};
        struct scrape *small = scrape_pool_begin(&pool, NULL);
        struct scrape *large[3];

        fill(&pool, small, PAGE_BYTES);
        for (size_t i = 0; i < ARRAY_LEN(large); i++) {
                large[i] = scrape_pool_begin(&pool, NULL);
                assert_null(scrape_pool_excess(&pool, small));
                fill(&pool, large[i], MAX_PAGE_BYTES - i);
                if (pool.used_bytes > BUDGET_BYTES)
                        break;
        }
        struct scrape *excess = scrape_pool_excess(&pool, small);
        assert_non_null(excess);
        assert_ptr_not_equal(excess, small);
        while (!LIST_EMPTY(&pool.under_way))
                scrape_pool_end(&pool, LIST_FIRST(&pool.under_way));
        assert_int_equal(pool.used_bytes, 0);
        scrape_pool_done(&pool);
}
