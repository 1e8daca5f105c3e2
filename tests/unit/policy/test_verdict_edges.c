/* Verdicts in pools, of the candidates of one call, and of readings beyond reason. */
#include "tests/unit/fixture/policy.h"

#include "policy/verdict.h"

enum { ROWS = 2 };

/* Two nodes with one metric: the second is in the first pool. */
struct nodes {
        double usage_ratio[ROWS], hot[ROWS];
        int64_t expires_unix_ms[ROWS];
        uint8_t pool[ROWS];
        const double *usage_columns[1];
        const int64_t *expires_columns[1];
        struct reading_columns columns;
        struct policy *policy;
};

static void nodes_init(struct nodes *nodes, double first_ratio, double second_ratio) {
        static const char text[] =
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}]\n"
                "  priority: [{name: cpu_usage_avg_5m, weight: 1, scale: relative}]\n"
                "  pools:\n"
                "  - nodeSelector: {disk: ssd}\n"
                "    predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                "    priority: [{name: cpu_usage_avg_5m, weight: 1, target: 0.75}]\n";

        *nodes = (struct nodes){
                .usage_ratio = {first_ratio, second_ratio},
                .expires_unix_ms = {1, 1},
                .pool = {0, 1},
                .usage_columns = {nodes->usage_ratio},
                .expires_columns = {nodes->expires_unix_ms},
        };
        nodes->columns = (struct reading_columns){
                .usage_ratio = nodes->usage_columns,
                .expires_unix_ms = nodes->expires_columns,
                .hot = nodes->hot,
                .hot_expires_unix_ms = nodes->expires_unix_ms,
                .pool = nodes->pool,
        };
        nodes->policy = policy_of(text);
}

TEST(pool) {
        const struct verdict_largest largest = {{1}};
        struct nodes nodes;

        nodes_init(&nodes, 0.75, 0.75);
        assert_int_equal(verdict_filter(nodes.policy, &nodes.columns, 0, 0).rejected_by, -1);
        assert_int_equal(verdict_filter(nodes.policy, &nodes.columns, 1, 0).rejected_by, 1);
        assert_int_equal(verdict_score100(nodes.policy, &nodes.columns, 0, &largest, 0), 25);
        assert_int_equal(verdict_score100(nodes.policy, &nodes.columns, 1, &largest, 0), 100);
        policy_free(nodes.policy);
}

/* Rows that the columns do not have are skipped, as are candidates that are not the call's. */
TEST(largest) {
        static const struct {
                size_t row_count, count;
                double largest_ratio;
        } rows[] = {{2, 2, 0.75}, {1, 2, 0.25}, {0, 2, 0}, {2, 1, 0.25}, {2, 0, 0}};
        const uint32_t candidates[] = {0, 1};
        struct nodes nodes;

        nodes_init(&nodes, 0.25, 0.75);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct verdict_largest largest;
                verdict_find_largest(nodes.policy, &nodes.columns, rows[i].row_count, candidates,
                                     rows[i].count, 0, &largest);
                assert_true(largest.usage_ratio[0] == rows[i].largest_ratio);
        }
        policy_free(nodes.policy);
}

/* Far below 0 is 0, also when the hot value takes still more. */
TEST(far_below_zero) {
        struct nodes nodes;

        nodes_init(&nodes, 0, 1e300);
        nodes.hot[1] = 1;
        assert_int_equal(verdict_score100(nodes.policy, &nodes.columns, 1, NULL, 0), 0);
        policy_free(nodes.policy);
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
