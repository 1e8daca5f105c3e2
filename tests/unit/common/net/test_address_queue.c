/* Whose request is next, of two addresses, in both families. */
#include "tests/unit/fixture/test.h"

#include "base/buf.h"
#include "net/address_queue.h"

enum { REQUESTS = 6 };

static struct address_place requests[REQUESTS];
static struct buf events = {.max_bytes = 1 << 10}; /* "-2": the request 2 waits; "+2": no longer */

static void note(const struct address_place *place, char what) {
        (void)buf_printf(&events, "%c%td ", what, place - requests);
}

static void suspend(struct address_place *place) {
        note(place, '-');
}

static void resume(struct address_place *place) {
        note(place, '+');
}

static void expect_events(const char *expected) {
        assert_string_equal(events.data ? events.data : "", expected);
        buf_clear(&events);
}

static struct address_queue begin(sa_family_t family) {
        const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(1)};
        const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {[15] = 1}};
        const struct sockaddr_in other4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(2)};
        const struct sockaddr_in6 other6 = {.sin6_family = AF_INET6,
                                            .sin6_addr.s6_addr = {[15] = 2}};
        bool is_v4 = family == AF_INET;
        struct address_queue queue;

        for (size_t i = 0; i < REQUESTS; i++)
                address_queue_set_peer(
                        &requests[i],
                        i == 0 ? (is_v4 ? (const void *)&other4 : (const void *)&other6)
                               : (is_v4 ? (const void *)&v4 : (const void *)&v6));
        address_queue_init(&queue, suspend, resume);
        return queue;
}

static void check(sa_family_t family) {
        struct address_queue queue = begin(family);

        assert_true(address_queue_enter(&queue, &requests[1], 900));
        assert_false(address_queue_enter(&queue, &requests[2], 800));
        assert_false(address_queue_enter(&queue, &requests[3], 50));
        assert_false(address_queue_enter(&queue, &requests[4], 800));
        assert_false(address_queue_enter(&queue, &requests[5], 60));
        expect_events("-2 -3 -4 -5 ");
        assert_true(address_queue_enter(&queue, &requests[0], 900)); /* another address */
        address_queue_leave(&queue, &requests[0]);
        address_queue_leave(&queue, &requests[0]); /* has none */
        address_queue_leave(&queue, &requests[5]); /* was waiting */
        expect_events("");
        address_queue_leave(&queue, &requests[1]);
        expect_events("+3 ");
        assert_true(address_queue_enter(&queue, &requests[3], 50)); /* its own */
        assert_false(address_queue_enter(&queue, &requests[1], 900));
        address_queue_leave(&queue, &requests[3]);
        address_queue_leave(&queue, &requests[2]);
        address_queue_leave(&queue, &requests[4]);
        expect_events("-1 +2 +4 +1 ");
        assert_false(address_queue_enter(&queue, &requests[2], 1));
        address_queue_stop(&queue);
        assert_true(address_queue_enter(&queue, &requests[3], 1));
        expect_events("-2 +2 ");
        for (size_t i = 1; i <= 3; i++)
                address_queue_leave(&queue, &requests[i]);
        assert_true(address_queue_enter(&queue, &requests[1], 1));
        address_queue_leave(&queue, &requests[1]);
        expect_events("");
        address_queue_done(&queue);
        buf_done(&events);
}

TEST(smallest_of_an_address_first) {
        check(AF_INET);
        check(AF_INET6);
}
