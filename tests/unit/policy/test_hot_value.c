/* The ring of bindings and the hot value, against brute force and at its edges. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/hot_value.h"

#define NOW_UNIX_MS INT64_C(1784805954000)

static struct policy *policy_with(const struct policy_hot_value *hot_values, size_t count) {
        struct policy *policy = xcalloc(1, sizeof(*policy));

        memcpy(policy->hot_values, hot_values, count * sizeof(*hot_values));
        policy->hot_value_count = count;
        return policy;
}

TEST(edges) {
        static const struct policy_hot_value each = {MS_PER_MIN, 1};
        _cleanup_(freep) struct policy *none = policy_with(&each, 0);
        _cleanup_(freep) struct policy *one = policy_with(&each, 1);
        struct binding_ring ring = {0}, last = {0};

        assert_true(hot_value_keep_ms(none) == 0);
        assert_true(hot_value(none, &ring, NOW_UNIX_MS) == 0);
        assert_true(hot_value_next_change_unix_ms(none, &ring, NOW_UNIX_MS) == INT64_MAX);
        assert_int_equal(binding_ring_count(&ring, NOW_UNIX_MS, MS_PER_MIN), 0);
        binding_ring_add(&ring, NOW_UNIX_MS, 0); /* nothing will be asked for */
        assert_int_equal(ring.len, 0);

        /* (now - range, now], and what is ahead of the clock counts as now. */
        binding_ring_add(&ring, NOW_UNIX_MS, MS_PER_MIN);
        binding_ring_add(&ring, NOW_UNIX_MS + 1, MS_PER_MIN);
        assert_int_equal(binding_ring_count(&ring, NOW_UNIX_MS, 1), 2);
        assert_int_equal(binding_ring_count(&ring, NOW_UNIX_MS + 1, 1), 1);
        assert_int_equal(binding_ring_count(&ring, NOW_UNIX_MS + 2, 1), 0);
        assert_int_equal(binding_ring_count(&ring, NOW_UNIX_MS, INT64_MAX), 2);
        assert_int_equal(binding_ring_count(&ring, INT64_MIN, INT64_MAX), 2);

        /* Beyond the end of time nothing changes. */
        binding_ring_add(&last, INT64_MAX, MS_PER_MIN);
        assert_true(hot_value_next_change_unix_ms(one, &last, INT64_MAX) == INT64_MAX);
        binding_ring_done(&last);

        /* Older than anything that will be asked. */
        binding_ring_add(&ring, NOW_UNIX_MS - 2 * MS_PER_MIN, MS_PER_MIN);
        assert_int_equal(ring.len, 2);
        /* A gap empties the ring. */
        binding_ring_add(&ring, NOW_UNIX_MS + MS_PER_DAY, MS_PER_MIN);
        assert_int_equal(ring.len, 1);
        binding_ring_done(&ring);
        assert_null(ring.at_unix_ms);
        binding_ring_done(&ring);
}

/* What the ring should say, from all bindings ever added. */
static size_t brute_count(const int64_t *at_unix_ms, size_t len, int64_t now_unix_ms,
                          int64_t range_ms) {
        size_t count = 0;

        for (size_t i = 0; i < len; i++)
                count += at_unix_ms[i] > now_unix_ms - range_ms;
        return count;
}

static int64_t brute_hot(const struct policy *policy, const int64_t *at_unix_ms, size_t len,
                         int64_t now_unix_ms) {
        int64_t hot = 0;

        for (size_t i = 0; i < policy->hot_value_count; i++) {
                const struct policy_hot_value *p = &policy->hot_values[i];
                hot += (int64_t)brute_count(at_unix_ms, len, now_unix_ms, p->time_range_ms) /
                       p->count;
        }
        return hot;
}

static int64_t below(unsigned short seed[3], int64_t end) {
        return (int64_t)(erand48(seed) * (double)end);
}

TEST(brute_force) {
        enum { ROUNDS = 300, BINDINGS = 200 };
        unsigned short seed[3] = {4, 5, 6};

        for (int round = 0; round < ROUNDS; round++) {
                struct policy_hot_value hot_values[POLICY_MAX_HOT_VALUES];
                size_t hot_value_count = 1 + (size_t)below(seed, 4);
                for (size_t i = 0; i < hot_value_count; i++)
                        hot_values[i] = (struct policy_hot_value){1 + below(seed, 60),
                                                                  1 + below(seed, 5)};
                _cleanup_(freep) struct policy *policy = policy_with(hot_values, hot_value_count);
                int64_t keep_ms = hot_value_keep_ms(policy);

                _cleanup_(binding_ring_done) struct binding_ring ring = {0};
                int64_t all[BINDINGS];
                int64_t now_ms = NOW_UNIX_MS;
                for (size_t b = 0; b < BINDINGS; b++) {
                        /* Mostly close together, at times a gap; out of order by a little. */
                        now_ms += below(seed, 10) == 0 ? below(seed, 100) : below(seed, 6);
                        all[b] = now_ms - (below(seed, 4) == 0 ? below(seed, 20) : 0);
                        binding_ring_add(&ring, all[b], keep_ms);

                        int64_t hot = hot_value(policy, &ring, now_ms);
                        assert_true(hot == brute_hot(policy, all, b + 1, now_ms));
                        int64_t change_ms = hot_value_next_change_unix_ms(policy, &ring, now_ms);
                        if (hot == 0) {
                                assert_true(change_ms == INT64_MAX);
                                continue;
                        }
                        /* It holds up to the announced instant, and no longer. */
                        assert_true(change_ms > now_ms);
                        assert_true(brute_hot(policy, all, b + 1, change_ms - 1) == hot);
                        assert_true(brute_hot(policy, all, b + 1, change_ms) < hot);
                        assert_true(hot_value(policy, &ring, change_ms) ==
                                    brute_hot(policy, all, b + 1, change_ms));
                }
        }
}
