/* Places for scrapes: who waits, and for whom. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "controller/source/scrape/scrape_lanes.h"

enum { MANY = SCRAPE_HEALTHY_PLACES + 10 };

TEST(order) {
        struct scrape_lanes lanes;
        struct scrape_place places[4] = {0};

        scrape_lanes_init(&lanes);
        assert_null(scrape_lanes_pop(&lanes));
        scrape_lanes_push(&lanes, SCRAPE_LANE_FAILING, &places[0]);
        scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &places[1]);
        scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &places[2]);
        scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &places[3]);
        assert_true(scrape_place_is_queued(&places[2]));
        scrape_lanes_drop(&places[2]);
        scrape_lanes_drop(&places[2]); /* again is nothing */
        assert_false(scrape_place_is_queued(&places[2]));
        /* The healthy first, each lane in its order. */
        assert_ptr_equal(scrape_lanes_pop(&lanes), &places[1]);
        assert_false(scrape_place_is_queued(&places[1]));
        scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &places[1]);
        assert_ptr_equal(scrape_lanes_pop(&lanes), &places[3]);
        assert_ptr_equal(scrape_lanes_pop(&lanes), &places[1]);
        assert_ptr_equal(scrape_lanes_pop(&lanes), &places[0]);
        assert_null(scrape_lanes_pop(&lanes));
}

/* However many fail and hang, the healthy have their places; and the other way round. */
TEST(places) {
        static struct scrape_place failing[MANY], healthy[MANY];
        struct scrape_lanes lanes;
        size_t count = 0;

        scrape_lanes_init(&lanes);
        for (size_t i = 0; i < MANY; i++)
                scrape_lanes_push(&lanes, SCRAPE_LANE_FAILING, &failing[i]);
        for (; scrape_lanes_pop(&lanes); count++)
                scrape_lanes_enter(&lanes, SCRAPE_LANE_FAILING);
        assert_int_equal(count, SCRAPE_FAILING_PLACES);

        for (size_t i = 0; i < MANY; i++)
                scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &healthy[i]);
        for (count = 0; scrape_lanes_pop(&lanes); count++)
                scrape_lanes_enter(&lanes, SCRAPE_LANE_HEALTHY);
        assert_int_equal(count, SCRAPE_HEALTHY_PLACES);

        scrape_lanes_leave(&lanes, SCRAPE_LANE_FAILING);
        assert_ptr_equal(scrape_lanes_pop(&lanes), &failing[SCRAPE_FAILING_PLACES]);
        scrape_lanes_enter(&lanes, SCRAPE_LANE_FAILING);
        assert_null(scrape_lanes_pop(&lanes));
        scrape_lanes_leave(&lanes, SCRAPE_LANE_HEALTHY);
        assert_ptr_equal(scrape_lanes_pop(&lanes), &healthy[SCRAPE_HEALTHY_PLACES]);
}

/* With many targets there are more. */
TEST(places_follow_targets) {
        static const struct {
                size_t targets, healthy, failing;
        } rows[] = {{0, 256, 32},     {5000, 256, 32},  {16384, 256, 32},
                    {16448, 257, 32}, {20000, 312, 39}, {100000, 1562, 195}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t targets = rows[i].targets;
                assert_int_equal(scrape_lanes_places(SCRAPE_LANE_HEALTHY, targets),
                                 rows[i].healthy);
                assert_int_equal(scrape_lanes_places(SCRAPE_LANE_FAILING, targets),
                                 rows[i].failing);
        }

        static struct scrape_place waiting[MANY];
        struct scrape_lanes lanes;
        size_t count = 0;
        scrape_lanes_init(&lanes);
        lanes.targets = 16448;
        for (size_t i = 0; i < MANY; i++)
                scrape_lanes_push(&lanes, SCRAPE_LANE_HEALTHY, &waiting[i]);
        for (; scrape_lanes_pop(&lanes); count++)
                scrape_lanes_enter(&lanes, SCRAPE_LANE_HEALTHY);
        assert_int_equal(count, 257);
        lanes.targets = 0; /* fewer: those under way end as they would */
        scrape_lanes_leave(&lanes, SCRAPE_LANE_HEALTHY);
        assert_null(scrape_lanes_pop(&lanes));
}
