/* Counting bindings by node. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/clock.h"
#include "controller/node/bindings.h"
#include "controller/node/node_set.h"

static const int64_t now_unix_ms = INT64_C(1784805954000);

TEST(hot) {
        const struct policy policy = {
                .hot_value_count = 2,
                .hot_values = {{5 * MS_PER_MIN, 5}, {MS_PER_MIN, 2}},
        };
        _cleanup_(bindings_freep) struct bindings *bindings = bindings_new();

        assert_false(bindings_is_counting(bindings)); /* without a watch nothing is complete */
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms), 0);
        for (int i = 0; i < 5; i++)
                bindings_add(bindings, "a", now_unix_ms - i * 25 * MS_PER_S, now_unix_ms);
        bindings_add(bindings, "b", now_unix_ms, now_unix_ms);
        /* a: 5 in five minutes (1), 3 in the last one (1) */
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms), 2);
        assert_int_equal(bindings_hot(bindings, &policy, "b", now_unix_ms), 0);
        assert_int_equal(bindings_hot(bindings, &policy, "c", now_unix_ms), 0);
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms + 2 * MS_PER_MIN), 1);
        for (int i = 0; i < 2; i++) { /* the node is gone, and again */
                bindings_forget(bindings, "a");
                assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms), 0);
        }
}

/* An hour later by the old clock, the wall clock is right again: what was is as long ago as before.
 */
TEST(clock_set_back) {
        const struct policy policy = {.hot_value_count = 1, .hot_values = {{5 * MS_PER_MIN, 1}}};
        _cleanup_(bindings_freep) struct bindings *bindings = bindings_new();
        int64_t ahead_unix_ms = now_unix_ms + MS_PER_HOUR;

        bindings_add(bindings, "a", ahead_unix_ms, ahead_unix_ms);
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms), 1);
        /* The next one is no older than the one before. */
        bindings_add(bindings, "a", now_unix_ms + MS_PER_MIN, now_unix_ms + MS_PER_MIN);
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms + MS_PER_MIN), 2);
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms + 5 * MS_PER_MIN), 1);
        assert_int_equal(bindings_hot(bindings, &policy, "a", now_unix_ms + 6 * MS_PER_MIN), 0);
}

TEST(prune) {
        enum { NODES = 1000 };
        const struct policy longer = {.hot_value_count = 1,
                                      .hot_values = {{2 * BINDINGS_KEEP_MIN_MS, 1}}};
        _cleanup_(bindings_freep) struct bindings *bindings = bindings_new();

        for (int n = 0; n < NODES; n++) {
                char name[32];
                snprintf(name, sizeof(name), "node-%d", n);
                int64_t at_unix_ms = now_unix_ms + (n % 2) * MS_PER_MIN;
                bindings_add(bindings, name, at_unix_ms, at_unix_ms);
        }
        assert_int_equal(bindings_nodes(bindings), NODES);
        bindings_prune(bindings, now_unix_ms + MS_PER_MIN);
        assert_int_equal(bindings_nodes(bindings), NODES);
        bindings_prune(bindings, now_unix_ms + BINDINGS_KEEP_MIN_MS + 1);
        assert_int_equal(bindings_nodes(bindings), NODES / 2);
        bindings_follow(bindings, &longer, NULL, NULL, NULL);
        bindings_prune(bindings, now_unix_ms + BINDINGS_KEEP_MIN_MS + 2 * MS_PER_MIN);
        assert_int_equal(bindings_nodes(bindings), NODES / 2);
        bindings_prune(bindings, now_unix_ms + 3 * BINDINGS_KEEP_MIN_MS);
        assert_int_equal(bindings_nodes(bindings), 0);
}

/* Pods can name any number of nodes; memory is for as many as there may be. */
TEST(too_many_nodes) {
        _cleanup_(bindings_freep) struct bindings *bindings = bindings_new();

        for (int n = 0; n <= NODE_SET_MAX; n++) {
                char name[32];
                snprintf(name, sizeof(name), "node-%d", n);
                bindings_add(bindings, name, now_unix_ms, now_unix_ms);
        }
        assert_int_equal(bindings_nodes(bindings), NODE_SET_MAX);
}
