/* When two policies put every node into the same pool: the node table lists nodes anew if not. */
#include "cmocka_wrap.h"

#include <stdio.h>

#include "base/mem.h"
#include "policy/policy.h"

/* A policy whose pools have one label each: "pool=a", "pool=b".. of @values. */
static struct policy *policy_of(const char *values) {
        struct policy *policy = xcalloc(1, sizeof(*policy));

        for (; values[policy->pool_count]; policy->pool_count++) {
                struct policy_selector *selector = &policy->pools[policy->pool_count].selector;
                selector->count = 1;
                (void)snprintf(selector->labels[0].name, sizeof(selector->labels[0].name), "pool");
                selector->labels[0].value[0] = values[policy->pool_count];
        }
        return policy;
}

static void test_same_pools(void **state) {
        static const struct {
                const char *a, *b;
                bool is_same;
        } rows[] = {
                {"", "", true},      {"a", "a", true},    {"ab", "ab", true}, {"", "a", false},
                {"a", "", false},    {"a", "b", false},   {"a", "ab", false}, {"ab", "a", false},
                {"ab", "ba", false}, {"ab", "ac", false},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy *a = policy_of(rows[i].a), *b = policy_of(rows[i].b);
                assert_int_equal(policy_has_same_pools(a, b), rows[i].is_same);
                policy_free(a);
                policy_free(b);
        }
}

static void test_labels_of_a_pool(void **state) {
        struct policy *a = policy_of("a"), *b = policy_of("a");

        (void)state;
        b->pools[0].selector.labels[0].name[0] = 'P';
        assert_false(policy_has_same_pools(a, b));
        b->pools[0].selector = a->pools[0].selector;
        b->pools[0].selector.labels[1] = b->pools[0].selector.labels[0];
        b->pools[0].selector.count = 2;
        assert_false(policy_has_same_pools(a, b));
        assert_false(policy_has_same_pools(b, a));
        policy_free(a);
        policy_free(b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same_pools),
                cmocka_unit_test(test_labels_of_a_pool),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
