/* The memory of bodies. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "net/body_pool.h"

enum { MIB = 1 << 20, LARGEST = 16 * MIB };

static bool add(struct body_pool *pool, struct body *body, size_t len, size_t most) {
        static const char zeros[LARGEST];

        return body_append(pool, body, zeros, len, most);
}

static int set_up(void **state) {
        static struct body_pool pool;

        body_pool_init(&pool, 5 * (LARGEST + BODY_PADDING), 2 * LARGEST);
        *state = &pool;
        return 0;
}

static int tear_down(void **state) {
        struct body_pool *pool = *state;

        assert_int_equal(pool->bytes, pool->idle_bytes); /* nothing is lost */
        body_pool_done(pool);
        return 0;
}

TEST_BETWEEN(memory_is_kept, set_up, tear_down) {
        struct body *body = body_take(*state);

        assert_true(add(*state, body, 1, LARGEST));
        const char *data = body->data;
        body_give_back(*state, body);
        body = body_take(*state);
        assert_ptr_equal(body->data, data);
        /* An announced length is not believed before so much has come. */
        assert_in_range(body->cap, 1 + BODY_PADDING, MIB);
        assert_int_equal(body->len, 0);
        assert_true(add(*state, body, LARGEST, LARGEST));
        assert_int_equal(body->cap, LARGEST + BODY_PADDING);
        body_give_back(*state, body);
}

TEST_BETWEEN(large_body_is_not_kept, set_up, tear_down) {
        struct body *body = body_take(*state);

        assert_true(add(*state, body, LARGEST, LARGEST));
        assert_true(add(*state, body, LARGEST, 2 * LARGEST));
        assert_int_equal(body->len, 2 * LARGEST);
        body_give_back(*state, body);
        assert_int_equal(((struct body_pool *)*state)->bytes, 0);
}

/* What is only kept makes room for what is in use. */
TEST_BETWEEN(idle_bodies_make_room, set_up, tear_down) {
        struct body *small[15], *large[2];

        for (size_t i = 0; i < ARRAY_LEN(small); i++) {
                small[i] = body_take(*state);
                assert_true(add(*state, small[i], 4 * MIB, 4 * MIB));
        }
        for (size_t i = 0; i < ARRAY_LEN(small); i++)
                body_give_back(*state, small[i]);
        for (size_t i = 0; i < ARRAY_LEN(large); i++) {
                large[i] = body_take(*state);
                assert_true(add(*state, large[i], LARGEST, LARGEST));
        }
        for (size_t i = 0; i < ARRAY_LEN(large); i++)
                body_give_back(*state, large[i]);
}

/* The ceiling is for those in use, and holds: then there is no room, and nothing has changed. */
TEST_BETWEEN(ceiling, set_up, tear_down) {
        struct body *bodies[8];
        size_t count = 0;

        do
                bodies[count] = body_take(*state);
        while (add(*state, bodies[count], LARGEST, LARGEST) && ++count < ARRAY_LEN(bodies));
        assert_int_equal(count, 5);
        assert_int_equal(bodies[count]->cap, 0);
        for (size_t i = 0; i <= count; i++)
                body_give_back(*state, bodies[i]);
        assert_in_range(((struct body_pool *)*state)->idle_bytes, 1, 64 * MIB);
}
