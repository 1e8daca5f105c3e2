/* Places for scrapes: who waits, and for whom. And the memory of their pages: taken with the first
 * byte, reused, within limits, and one budget for all. */
#include "tests/unit/fixture/test.h"

#include "controller/source/scrape/scrape_pool.h"

enum { MANY = SCRAPE_HEALTHY_PLACES + 10 };

/* How many can begin now. */
static size_t begin_all(struct scrape_pool *pool) {
        size_t count = 0;

        while (scrape_pool_next(pool))
                count++;
        return count;
}

TEST(order) {
        struct scrape_pool pool;
        struct scrape scrapes[4] = {0};

        scrape_pool_init(&pool, 1);
        assert_null(scrape_pool_next(&pool));
        scrape_pool_wait(&pool, &scrapes[0], SCRAPE_LANE_FAILING);
        for (size_t i = 1; i < ARRAY_LEN(scrapes); i++)
                scrape_pool_wait(&pool, &scrapes[i], SCRAPE_LANE_HEALTHY);
        assert_int_equal(scrapes[2].phase, SCRAPE_WAITING);
        scrape_pool_end(&pool, &scrapes[2]);
        scrape_pool_end(&pool, &scrapes[2]); /* again is nothing */
        assert_int_equal(scrapes[2].phase, SCRAPE_IDLE);
        /* The healthy first, each lane in its order. */
        assert_ptr_equal(scrape_pool_next(&pool), &scrapes[1]);
        assert_int_equal(scrapes[1].phase, SCRAPE_UNDER_WAY);
        scrape_pool_end(&pool, &scrapes[1]);
        scrape_pool_wait(&pool, &scrapes[1], SCRAPE_LANE_HEALTHY);
        assert_ptr_equal(scrape_pool_next(&pool), &scrapes[3]);
        assert_ptr_equal(scrape_pool_next(&pool), &scrapes[1]);
        assert_ptr_equal(scrape_pool_next(&pool), &scrapes[0]);
        assert_null(scrape_pool_next(&pool));
}

/* However many fail and hang, the healthy have their places; and the other way round. */
TEST(places) {
        static struct scrape failing[MANY], healthy[MANY];
        struct scrape_pool pool;

        scrape_pool_init(&pool, 1);
        for (size_t i = 0; i < MANY; i++)
                scrape_pool_wait(&pool, &failing[i], SCRAPE_LANE_FAILING);
        assert_int_equal(begin_all(&pool), SCRAPE_FAILING_PLACES);
        for (size_t i = 0; i < MANY; i++)
                scrape_pool_wait(&pool, &healthy[i], SCRAPE_LANE_HEALTHY);
        assert_int_equal(begin_all(&pool), SCRAPE_HEALTHY_PLACES);

        scrape_pool_end(&pool, &failing[0]);
        assert_ptr_equal(scrape_pool_next(&pool), &failing[SCRAPE_FAILING_PLACES]);
        assert_null(scrape_pool_next(&pool));
        scrape_pool_end(&pool, &healthy[0]);
        assert_ptr_equal(scrape_pool_next(&pool), &healthy[SCRAPE_HEALTHY_PLACES]);
}

/* With many targets there are more. */
TEST(places_follow_targets) {
        static const struct {
                size_t targets, healthy, failing;
        } rows[] = {{0, 256, 32},      {2048, 256, 32},   {5000, 256, 78},
                    {16384, 256, 256}, {16448, 257, 257}, {100000, 1562, 1562}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t targets = rows[i].targets;
                assert_int_equal(scrape_pool_places(SCRAPE_LANE_HEALTHY, targets), rows[i].healthy);
                assert_int_equal(scrape_pool_places(SCRAPE_LANE_FAILING, targets), rows[i].failing);
        }

        static struct scrape waiting[MANY];
        struct scrape_pool pool;
        scrape_pool_init(&pool, 1);
        pool.targets = 16448;
        for (size_t i = 0; i < MANY; i++)
                scrape_pool_wait(&pool, &waiting[i], SCRAPE_LANE_HEALTHY);
        assert_int_equal(begin_all(&pool), 257);
        pool.targets = 0; /* fewer: those under way end as they would */
        scrape_pool_end(&pool, &waiting[0]);
        assert_null(scrape_pool_next(&pool));
}

enum { MAX_PAGE_BYTES = 16 << 20, PAGE_BYTES = 20000 };

static char text[MAX_PAGE_BYTES + 1];

static void begin(struct scrape_pool *pool, struct scrape *scrape) {
        scrape_pool_wait(pool, scrape, SCRAPE_LANE_HEALTHY);
        assert_ptr_equal(scrape_pool_next(pool), scrape);
}

static void fill(struct scrape_pool *pool, struct scrape *scrape, size_t len) {
        scrape_pool_append(pool, scrape, text, len);
        assert_int_equal(scrape->page.len, len);
}

TEST(memory_is_reused) {
        struct scrape_pool pool;
        struct scrape scrapes[SCRAPE_IDLE_KEPT + 2] = {0};

        scrape_pool_init(&pool, MAX_PAGE_BYTES);
        for (size_t i = 0; i < ARRAY_LEN(scrapes); i++)
                begin(&pool, &scrapes[i]);
        assert_int_equal(pool.used_bytes, 0); /* nothing has come */

        /* One after the other: all in the same memory. */
        fill(&pool, &scrapes[0], PAGE_BYTES);
        const char *memory = scrapes[0].page.data;
        size_t cap = scrapes[0].page.cap;
        assert_int_equal(pool.used_bytes, cap);
        scrape_pool_end(&pool, &scrapes[0]);
        assert_int_equal(pool.used_bytes, 0);
        fill(&pool, &scrapes[1], PAGE_BYTES);
        assert_ptr_equal(scrapes[1].page.data, memory);
        assert_int_equal(pool.used_bytes, cap);

        /* All at once: some of it is kept. */
        for (size_t i = 2; i < ARRAY_LEN(scrapes); i++)
                fill(&pool, &scrapes[i], PAGE_BYTES);
        assert_int_equal(pool.used_bytes, cap * (ARRAY_LEN(scrapes) - 1));
        for (size_t i = 1; i < ARRAY_LEN(scrapes); i++)
                scrape_pool_end(&pool, &scrapes[i]);
        assert_int_equal(pool.idle_count, SCRAPE_IDLE_KEPT);
        assert_int_equal(pool.used_bytes, 0);
        scrape_pool_done(&pool);
}

TEST(limits) {
        struct scrape_pool pool;
        struct scrape few = {0}, many = {0};

        scrape_pool_init(&pool, MAX_PAGE_BYTES);
        begin(&pool, &few);
        fill(&pool, &few, PAGE_BYTES);
        scrape_pool_end(&pool, &few);
        begin(&pool, &few);
        begin(&pool, &many);
        fill(&pool, &few, 10); /* in memory that was another page's: the limit is the same */
        assert_int_equal(few.page.max_bytes, MAX_PAGE_BYTES);
        assert_int_equal(pool.used_bytes, few.page.cap + many.page.cap);
        scrape_pool_end(&pool, &many);

        /* A large page's memory is not kept. */
        begin(&pool, &many);
        fill(&pool, &many, MAX_PAGE_BYTES);
        scrape_pool_end(&pool, &many);
        assert_int_equal(pool.idle_count, 0);
        scrape_pool_end(&pool, &few);
        assert_int_equal(pool.idle_count, 1);
        scrape_pool_done(&pool);
}

/* The budget is that of two of the largest pages, and for smaller ones of all places. */
TEST(the_largest_goes_first) {
        struct scrape_pool pool;
        struct scrape small = {0}, large[3] = {0};

        scrape_pool_init(&pool, MAX_PAGE_BYTES);
        begin(&pool, &small);
        fill(&pool, &small, PAGE_BYTES);
        for (size_t i = 0; i < ARRAY_LEN(large); i++) {
                assert_null(scrape_pool_excess(&pool, &small));
                begin(&pool, &large[i]);
                fill(&pool, &large[i], MAX_PAGE_BYTES - i);
                if (pool.used_bytes > 2 * MAX_PAGE_BYTES)
                        break;
        }
        assert_in_range(scrape_pool_excess(&pool, &small) - large, 0, ARRAY_LEN(large) - 1);
        pool.targets = 100000;
        assert_null(scrape_pool_excess(&pool, &small));
        scrape_pool_end(&pool, &small);
        for (size_t i = 0; i < ARRAY_LEN(large); i++)
                scrape_pool_end(&pool, &large[i]);
        assert_int_equal(pool.used_bytes, 0);
        scrape_pool_done(&pool);
}
