/* Candidates of one call: the busiest, and those that are last. */
#include "tests/unit/fixture/policy.h"

#include "policy/verdict.h"

/* Rows that the columns do not have are skipped, as are candidates that are not the call's. */
TEST(largest) {
        static const struct {
                size_t row_count, count;
                double largest_ratio;
        } rows[] = {{2, 2, 0.75}, {1, 2, 0.25}, {0, 2, 0}, {2, 1, 0.25}, {2, 0, 0}};
        static const uint32_t candidates[] = {0, 1};
        double usage_ratio[] = {0.25, 0.75};
        int64_t expires_unix_ms[] = {1, 1};
        const struct reading_columns columns = {.usage_ratio = {usage_ratio},
                                                .expires_unix_ms = {expires_unix_ms}};
        _cleanup_(policy_freep) struct policy *policy = policy_of(
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1, scale: relative}]\n");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct verdict_largest largest;
                verdict_find_largest(policy, &columns, rows[i].row_count, candidates, rows[i].count,
                                     0, &largest);
                assert_true(largest.usage_ratio[0] == rows[i].largest_ratio);
        }
}

TEST(has_last) {
        enum { ANY = VERDICT_PLACE_ANY, LAST = VERDICT_PLACE_LAST, ABSENT = VERDICT_PLACE_ABSENT };
        static const struct {
                size_t count;
                uint8_t places[3];
                bool has_last;
        } rows[] = {
                {0, {ANY, LAST}, false},        {1, {ANY, LAST}, false},
                {1, {LAST, ANY}, false},        {2, {ANY, LAST}, true},
                {2, {LAST, ANY}, true},         {2, {LAST, LAST}, false},
                {2, {LAST, ABSENT}, false},     {2, {ABSENT, ANY}, false},
                {3, {LAST, ABSENT, ANY}, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(verdict_has_last(rows[i].places, rows[i].count), rows[i].has_last);
}

TEST(put_last) {
        static const uint8_t places[] = {VERDICT_PLACE_LAST, VERDICT_PLACE_ANY, VERDICT_PLACE_ANY,
                                         VERDICT_PLACE_ABSENT, VERDICT_PLACE_LAST};
        static const int expected[] = {0, 1, 5, 0, 9};
        int scores10[] = {7, 0, 5, 0, 9};

        verdict_put_last(places, scores10, 4); /* the fifth is none of them */
        assert_memory_equal(scores10, expected, sizeof(expected));
}
