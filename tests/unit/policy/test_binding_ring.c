/* The ring of bindings at its edges. test_hot_value.c has its counts against brute force. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "policy/binding_ring.h"

/* One binding is added to others: how many are kept, and which is the oldest. */
TEST(add) {
        static const struct {
                size_t count;
                int64_t before_ms[2], added_ms, keep_ms;
                size_t kept;
                int64_t oldest_ms;
        } rows[] = {
                {1, {100}, 120, 50, 2, 100},   {1, {100}, 149, 50, 2, 100},
                {1, {100}, 150, 50, 1, 150}, /* as old as what is no longer asked for */
                {1, {100}, 51, 50, 2, 51},   /* late, but not too late */
                {1, {100}, 50, 50, 1, 100},    {2, {60, 100}, 51, 50, 3, 51},
                {2, {60, 100}, 50, 50, 2, 60}, {2, {60, 100}, 45, 50, 2, 60},
                {2, {60, 100}, 80, 50, 3, 60}, {2, {60, 100}, 110, 50, 2, 100},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(binding_ring_done) struct binding_ring ring = {0};
                for (size_t k = 0; k < rows[i].count; k++)
                        binding_ring_add(&ring, rows[i].before_ms[k], rows[i].keep_ms);
                binding_ring_add(&ring, rows[i].added_ms, rows[i].keep_ms);
                assert_int_equal(ring.len, rows[i].kept);
                assert_int_equal(binding_ring_newest(&ring, rows[i].kept), rows[i].oldest_ms);
        }
}

/* A full ring gives up its oldest binding for a newer one, wherever that belongs, and no other. */
TEST(full) {
        _cleanup_(binding_ring_done) struct binding_ring ring = {0};

        for (int i = 0; i < BINDING_RING_MAX; i++)
                binding_ring_add(&ring, 2 * i, INT64_MAX);
        binding_ring_add(&ring, -1, INT64_MAX);
        assert_int_equal(binding_ring_newest(&ring, BINDING_RING_MAX), 0);
        binding_ring_add(&ring, 1, INT64_MAX);
        assert_int_equal(ring.len, BINDING_RING_MAX);
        assert_int_equal(binding_ring_newest(&ring, BINDING_RING_MAX), 1);
        assert_int_equal(binding_ring_newest(&ring, BINDING_RING_MAX - 1), 2);
        binding_ring_add(&ring, 3, INT64_MAX);
        assert_int_equal(ring.len, BINDING_RING_MAX);
        assert_int_equal(binding_ring_newest(&ring, BINDING_RING_MAX), 2);
}

/* The clock is set back: what is ahead of it counts as of now. */
TEST(settle) {
        _cleanup_(binding_ring_done) struct binding_ring ring = {0};

        binding_ring_settle(&ring, 0);
        for (int i = 1; i <= 4; i++)
                binding_ring_add(&ring, 10 * i, 100);
        binding_ring_settle(&ring, 25);
        assert_int_equal(ring.len, 4);
        assert_int_equal(binding_ring_newest(&ring, 1), 25);
        assert_int_equal(binding_ring_newest(&ring, 2), 25);
        assert_int_equal(binding_ring_newest(&ring, 3), 20);
}

/* Before the beginning of time nothing was bound: a range that reaches there has all. */
TEST(beginning) {
        _cleanup_(binding_ring_done) struct binding_ring ring = {0};

        binding_ring_add(&ring, 0, 100);
        assert_int_equal(binding_ring_count(&ring, INT64_MIN, 1), 1);
        assert_int_equal(binding_ring_count(&ring, INT64_MAX, 1), 0);
}
