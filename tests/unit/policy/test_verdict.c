/* Filter and score: the edges of crane's policy, and of the arithmetic. */
#include "tests/unit/fixture/test.h"

#include <float.h>

#include "one_node.h"
#include "tests/crane_policy.h"

/* 2026-07-23T11:25:54Z */
#define NOW_UNIX_MS INT64_C(1784805954000)
#define NOW "2026-07-23T11:25:54Z"

#define CPU_5M "cpu_usage_avg_5m"
#define CPU_1H "cpu_usage_max_avg_1h"
#define CPU_1D "cpu_usage_max_avg_1d"
#define MEM_5M "mem_usage_avg_5m"
#define MEM_1H "mem_usage_max_avg_1h"

struct example {
        const char *name;
        struct {
                const char *key, *value;
        } annotations[8];
        int rejected_by; /* index of the predicate, -1: passes */
        int score100;
        int last_by; /* ditto, plus 1; 0: none */
};

static void assert_examples(const struct policy *policy, const struct example *rows, size_t count) {
        for (size_t i = 0; i < count; i++) {
                struct one_node node;
                one_node_init(&node);
                for (size_t a = 0; a < 8 && rows[i].annotations[a].key; a++)
                        one_node_annotate(&node, policy, rows[i].annotations[a].key,
                                          rows[i].annotations[a].value);
                const struct verdict_limits limits = verdict_filter(policy, &node.columns, 0,
                                                                    NOW_UNIX_MS);
                int score100 = verdict_score100(policy, &node.columns, 0, NULL, NOW_UNIX_MS);
                if (limits.rejected_by != rows[i].rejected_by ||
                    limits.last_by != rows[i].last_by - 1 || score100 != rows[i].score100)
                        fail_msg("%s gave %d, %d, %d", rows[i].name, limits.rejected_by,
                                 limits.last_by, score100);
                int over = rows[i].rejected_by >= 0 ? rows[i].rejected_by : rows[i].last_by - 1;
                assert_int_equal(verdict_over(limits), over);
        }
}

/* test_crane_verdicts.c has the rest: no time of it is near its expiry, and no value at a limit. */
TEST(crane_policy) {
        static const struct example rows[] = {
                {"at the limit: passes", {{CPU_5M, "0.65," NOW}}, -1, 3},
                {"above the limit", {{CPU_5M, "0.65001," NOW}}, 0, 3},
                /* 3 m + 5 m for the 5-minute means, 5 m for the hot value. */
                {"one second before it expires", {{CPU_5M, "0.9,2026-07-23T11:17:55Z"}}, 0, 0},
                {"expired", {{CPU_5M, "0.9,2026-07-23T11:17:54Z"}}, -1, 0},
                {"expires with its period", {{CPU_1H, "0.9,2026-07-23T11:05:55Z"}}, 1, 1},
                {"ahead of the clock: used", {{CPU_5M, "0.9,2026-07-23T12:25:54Z"}}, 0, 0},
                {"an expired hot value",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "9,2026-07-23T11:20:54Z"}},
                 -1,
                 25},
                {"the hot value's last second",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "2,2026-07-23T11:20:55Z"}},
                 -1,
                 5},
                {"a number beyond int", {{CPU_1D, "1e300," NOW}}, -1, 0},
                {"a hot value beyond int",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "1e308," NOW}},
                 -1,
                 0},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        assert_examples(policy, rows, ARRAY_LEN(rows));
}

/* A predicate that rejects is before one that puts last, wherever it stands. */
TEST(last) {
        static const struct example rows[] = {
                {"the first of two", {{CPU_5M, "0.66," NOW}, {MEM_5M, "0.66," NOW}}, -1, 6, 1},
                {"rejected", {{CPU_5M, "0.66," NOW}, {MEM_1H, "0.76," NOW}}, 3, 6},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->predicates[0].over_limit = POLICY_OVER_LIMIT_LAST;
        policy->predicates[2].over_limit = POLICY_OVER_LIMIT_LAST;
        assert_examples(policy, rows, ARRAY_LEN(rows));
}

/* Weights near the end of a double: infinite products and sums, and inf - inf. UBSan watches. */
TEST(huge) {
        static const struct {
                double weight[2], usage_ratio[2];
                int score100;
        } rows[] = {
                {{DBL_MAX / 4, DBL_MAX / 4}, {0, 0}, 100}, /* infinity / weights */
                {{DBL_MAX / 4, DBL_MAX / 4}, {2, 2}, 0},   /* -infinity */
                {{DBL_MAX / 4, DBL_MAX / 4}, {0, 2}, 0},   /* infinity - infinity */
                {{DBL_MIN, DBL_TRUE_MIN}, {0.5, 0.5}, 49}, /* half of the second is 0 */
                {{1, 1}, {DBL_MAX, 0}, 0},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->priority_count = 2;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct one_node node;
                one_node_init(&node);
                for (size_t m = 0; m < 2; m++) {
                        policy->priorities[m].weight = rows[i].weight[m];
                        node.usage_ratio[m] = rows[i].usage_ratio[m];
                        node.expires_unix_ms[m] = INT64_MAX;
                }
                int score100 = verdict_score100(policy, &node.columns, 0, NULL, NOW_UNIX_MS);
                if (score100 != rows[i].score100)
                        fail_msg("row %zu gave %d", i, score100);
        }
}

/* A target fills nodes up to it, and spreads beyond. */
TEST(target) {
        static const struct {
                double target_ratio, usage_ratio;
                int score100;
        } rows[] = {
                {0.5, 0, 50},
                {0.5, 0.25, 75},
                {0.5, 0.5, 100},
                {0.5, 0.50001, 49},
                {0.5, 0.75, 25},
                {0.5, 1, 0},
                {0.5, 2, 0},
                {0.75, 0, 75},
                {0.75, 0.75, 100},
                {0.75, 0.875, 37}, /* 0.75 * 0.125 / 0.25 */
                {0, 0.25, 75},     /* none */
                {DBL_TRUE_MIN, 0, 0},
                {DBL_TRUE_MIN, 0.5, 0},
                {1 - DBL_EPSILON / 2, 0.5, 100},
                {1 - DBL_EPSILON / 2, 1e300, 0},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->priority_count = 1;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct one_node node;
                one_node_init(&node);
                policy->priorities[0].target_ratio = rows[i].target_ratio;
                node.usage_ratio[0] = rows[i].usage_ratio;
                node.expires_unix_ms[0] = INT64_MAX;
                int score100 = verdict_score100(policy, &node.columns, 0, NULL, NOW_UNIX_MS);
                if (score100 != rows[i].score100)
                        fail_msg("row %zu gave %d", i, score100);
        }
}

TEST(score10) {
        static const struct {
                int score100, score10;
        } rows[] = {{0, 0}, {4, 0}, {5, 1}, {14, 1}, {15, 2}, {94, 9}, {95, 10}, {100, 10}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(verdict_score10(rows[i].score100), rows[i].score10);
}

TEST(spread10) {
        static const struct {
                size_t count;
                int scores100[5], scores10[5];
        } rows[] = {
                {0, {0}, {0}},
                {1, {37}, {10}},
                {3, {0, 0, 0}, {10, 10, 10}}, /* all equal */
                {2, {50, 51}, {0, 10}},
                {3, {50, 51, 52}, {0, 5, 10}},
                {4, {0, 33, 67, 100}, {0, 3, 7, 10}},
                {5, {10, 11, 12, 13, 14}, {0, 3, 5, 8, 10}}, /* halves go up */
                {5, {100, 0, 4, 5, 95}, {10, 0, 0, 1, 10}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int scores[5];
                memcpy(scores, rows[i].scores100, sizeof(scores));
                verdict_spread10(scores, rows[i].count);
                for (size_t n = 0; n < rows[i].count; n++)
                        if (scores[n] != rows[i].scores10[n])
                                fail_msg("row %zu, %zu gave %d", i, n, scores[n]);
        }
        verdict_spread10(NULL, 0);
}
