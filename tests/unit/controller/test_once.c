/* --once: what happens in which order, and what is said once. */
#include "tests/unit/fixture/test.h"

#include "controller/once.h"

static const struct once_facts known = {
        .nodes = 2, .is_each_seen = true, .is_synced = true, .is_writer_idle = true};

TEST(order) {
        struct once once = {0};
        struct once_facts facts = known;

        assert_false(once_is_on(&once));
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        once_begin(&once);
        assert_true(once_is_on(&once));
        facts.is_each_seen = false;
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        facts.is_each_seen = true;
        facts.is_synced = false;
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        facts.is_synced = true;
        assert_int_equal(once_next(&once, &facts), ONCE_WRITE);
        facts.is_writer_idle = false;
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        facts.is_each_seen = false; /* another node comes: too late to matter */
        facts.is_writer_idle = true;
        assert_int_equal(once_next(&once, &facts), ONCE_END);
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
}

TEST(no_nodes) {
        struct once once = {0};
        struct once_facts facts = known;

        once_begin(&once);
        facts.nodes = 0;
        assert_int_equal(once_next(&once, &facts), ONCE_NO_NODES);
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
}

/* What has been read is written; without the lists it is not known what that would be. */
TEST(late) {
        struct once_facts facts = known;

        facts.is_each_seen = false;
        for (int is_synced = 0; is_synced < 2; is_synced++) {
                struct once once = {0};
                once_begin(&once);
                facts.is_synced = is_synced;
                assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
                once.is_late = true;
                assert_int_equal(once_next(&once, &facts), is_synced ? ONCE_WRITE : ONCE_NO_LISTS);
                assert_int_equal(once_next(&once, &facts), is_synced ? ONCE_END : ONCE_WAIT);
        }
}
