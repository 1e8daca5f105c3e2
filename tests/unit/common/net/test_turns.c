/* Whose request is next, of two addresses, in both families. */
#include "tests/unit/fixture/test.h"

#include "base/buf.h"
#include "net/turns.h"

enum { REQUESTS = 6 };

static struct turn requests[REQUESTS];
static struct buf events = {.max_bytes = 1 << 10}; /* "-2": the request 2 waits; "+2": no longer */

static void note(const struct turn *turn, char what) {
        (void)buf_printf(&events, "%c%td ", what, turn - requests);
}

static void suspend(struct turn *turn) {
        note(turn, '-');
}

static void resume(struct turn *turn) {
        note(turn, '+');
}

static void expect_events(const char *expected) {
        assert_string_equal(events.data ? events.data : "", expected);
        buf_clear(&events);
}

static struct turns begin(sa_family_t family) {
        const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(1)};
        const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {[15] = 1}};
        const struct sockaddr_in other4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(2)};
        const struct sockaddr_in6 other6 = {.sin6_family = AF_INET6,
                                            .sin6_addr.s6_addr = {[15] = 2}};
        bool is_v4 = family == AF_INET;
        struct turns turns;

        for (size_t i = 0; i < REQUESTS; i++)
                turns_set_peer(&requests[i],
                               i == 0 ? (is_v4 ? (const void *)&other4 : (const void *)&other6)
                                      : (is_v4 ? (const void *)&v4 : (const void *)&v6));
        turns_init(&turns, suspend, resume);
        return turns;
}

static void check(sa_family_t family) {
        struct turns turns = begin(family);

        assert_true(turns_take(&turns, &requests[1], 900));
        assert_false(turns_take(&turns, &requests[2], 800));
        assert_false(turns_take(&turns, &requests[3], 50));
        assert_false(turns_take(&turns, &requests[4], 800));
        assert_false(turns_take(&turns, &requests[5], 60));
        expect_events("-2 -3 -4 -5 ");
        assert_true(turns_take(&turns, &requests[0], 900)); /* another address */
        turns_give(&turns, &requests[0]);
        turns_give(&turns, &requests[0]); /* has none */
        turns_give(&turns, &requests[5]); /* was waiting */
        expect_events("");
        turns_give(&turns, &requests[1]);
        expect_events("+3 ");
        assert_true(turns_take(&turns, &requests[3], 50)); /* its own */
        assert_false(turns_take(&turns, &requests[1], 900));
        turns_give(&turns, &requests[3]);
        turns_give(&turns, &requests[2]);
        turns_give(&turns, &requests[4]);
        expect_events("-1 +2 +4 +1 ");
        assert_false(turns_take(&turns, &requests[2], 1));
        turns_stop(&turns);
        assert_true(turns_take(&turns, &requests[3], 1));
        expect_events("-2 +2 ");
        for (size_t i = 1; i <= 3; i++)
                turns_give(&turns, &requests[i]);
        assert_true(turns_take(&turns, &requests[1], 1));
        turns_give(&turns, &requests[1]);
        expect_events("");
        turns_done(&turns);
        buf_done(&events);
}

TEST(smallest_of_an_address_first) {
        check(AF_INET);
        check(AF_INET6);
}
