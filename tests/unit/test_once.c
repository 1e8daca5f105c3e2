/* --once: what happens in which order, and what is said once. */
#include "cmocka_wrap.h"

#include "controller/once.h"

static const struct once_facts known = {.nodes = 2, .is_synced = true, .is_publisher_idle = true};

static void test_two_nodes(void **state) {
        struct once once = {0};
        struct once_facts facts = known;

        (void)state;
        assert_false(once_is_on(&once));
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        once_begin(&once);
        assert_true(once_is_on(&once));
        once_node_added(&once);
        once_node_added(&once);
        once_outcome(&once, 0, 1);
        once_outcome(&once, 0, 1);
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        once_outcome(&once, 1, 2);
        once_outcome(&once, 2, 3); /* the same node again */
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        once_outcome(&once, 1, 2);
        facts.is_synced = false;
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        facts.is_synced = true;
        assert_int_equal(once_next(&once, &facts), ONCE_WRITE);
        facts.is_publisher_idle = false;
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
        once_node_added(&once); /* too late to matter */
        facts.is_publisher_idle = true;
        assert_int_equal(once_next(&once, &facts), ONCE_END);
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
}

static void test_a_node_goes(void **state) {
        struct once once = {0};

        (void)state;
        once_begin(&once);
        once_node_added(&once);
        once_node_added(&once);
        once_outcome(&once, 1, 2);
        once_node_removed(&once, 2); /* had been looked at */
        assert_int_equal(once_next(&once, &known), ONCE_WAIT);
        once_node_removed(&once, 1); /* had not */
        assert_int_equal(once_next(&once, &known), ONCE_WRITE);
}

static void test_no_nodes(void **state) {
        struct once once = {0};
        struct once_facts facts = known;

        (void)state;
        once_begin(&once);
        facts.nodes = 0;
        assert_int_equal(once_next(&once, &facts), ONCE_NO_NODES);
        assert_int_equal(once_next(&once, &facts), ONCE_WAIT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two_nodes),
                cmocka_unit_test(test_a_node_goes),
                cmocka_unit_test(test_no_nodes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
