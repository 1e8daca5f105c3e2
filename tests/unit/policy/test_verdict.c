/* Filter and score: worked examples of crane's policy, and the edges of the arithmetic. */
#include "tests/unit/fixture/test.h"

#include <float.h>

#include "base/clock.h"
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
#define MEM_1D "mem_usage_max_avg_1d"

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

TEST(crane_policy) {
        static const struct example rows[] = {
                {"no annotation at all: passes, and is worth nothing", {{0}}, -1, 0},
                /* trunc(100 * (0.2 * 0.9 + 0.3 * 0.8 + 0.5 * 0.7 + 0.2 * 0.6 + 0.3 * 0.5 +
                 * 0.5 * 0.4) / 2) = trunc(62) */
                {"all six",
                 {{CPU_5M, "0.1," NOW},
                  {CPU_1H, "0.2," NOW},
                  {CPU_1D, "0.3," NOW},
                  {MEM_5M, "0.4," NOW},
                  {MEM_1H, "0.5," NOW},
                  {MEM_1D, "0.6," NOW}},
                 -1,
                 62},
                /* All weights count: 0.2 * 1 of 2. */
                {"one of six", {{CPU_5M, "0," NOW}}, -1, 10},
                {"at the limit: passes", {{CPU_5M, "0.65," NOW}}, -1, 3},
                {"above the limit", {{CPU_5M, "0.65001," NOW}}, 0, 3},
                {"the first predicate that rejects",
                 {{MEM_1H, "0.76," NOW}, {CPU_1H, "0.76," NOW}},
                 1,
                 7},
                {"no predicate for a day", {{CPU_1D, "1," NOW}}, -1, 0},
                {"above 1 is used as it stands: negative", {{CPU_5M, "34.2," NOW}}, 0, 0},
                {"a broken reading never rejects", {{CPU_5M, "99%," NOW}}, -1, 0},
                {"nor does one that is negative", {{CPU_5M, "-1," NOW}}, -1, 0},
                /* 3 m + 5 m for the 5-minute means, 5 m for the hot value. */
                {"one second before it expires", {{CPU_5M, "0.9,2026-07-23T11:17:55Z"}}, 0, 0},
                {"expired", {{CPU_5M, "0.9,2026-07-23T11:17:54Z"}}, -1, 0},
                {"expires with its period", {{CPU_1H, "0.9,2026-07-23T11:05:55Z"}}, 1, 1},
                {"ahead of the clock: used", {{CPU_5M, "0.9,2026-07-23T12:25:54Z"}}, 0, 0},
                {"a hot value of 2 costs 20 points",
                 {{CPU_1D, "0," NOW}, {MEM_1D, "0," NOW}, {"node_hot_value", "2," NOW}},
                 -1,
                 30},
                {"a hot value may have a fraction: trunc(10 * 0.19) = 1",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "0.19," NOW}},
                 -1,
                 24},
                {"never below 0", {{CPU_1D, "0," NOW}, {"node_hot_value", "9," NOW}}, -1, 0},
                {"an expired hot value",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "9,2026-07-23T11:20:54Z"}},
                 -1,
                 25},
                {"the hot value's last second",
                 {{CPU_1D, "0," NOW}, {"node_hot_value", "2,2026-07-23T11:20:55Z"}},
                 -1,
                 5},
                /* Truncation toward zero: 0.5 * 0.999 * 100 / 2 = 24.975. */
                {"no rounding up", {{CPU_1D, "0.001," NOW}}, -1, 24},
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
                {"below", {{CPU_5M, "0.65," NOW}}, -1, 3},
                {"last", {{CPU_5M, "0.66," NOW}}, -1, 3, 1},
                {"last by the third", {{MEM_5M, "0.66," NOW}}, -1, 3, 3},
                {"the first of two", {{CPU_5M, "0.66," NOW}, {MEM_5M, "0.66," NOW}}, -1, 6, 1},
                {"rejected", {{CPU_5M, "0.66," NOW}, {MEM_1H, "0.76," NOW}}, 3, 6},
                {"expired", {{CPU_5M, "0.9,2026-07-23T11:17:54Z"}}, -1, 0},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->predicates[0].over_limit = POLICY_OVER_LIMIT_LAST;
        policy->predicates[2].over_limit = POLICY_OVER_LIMIT_LAST;
        assert_examples(policy, rows, ARRAY_LEN(rows));
}

TEST(limit_zero_is_off) {
        static const struct example rows[] = {{"all busy", {{CPU_5M, "1," NOW}}, -1, 0}};
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->predicates[0].limit_ratio = 0;
        assert_examples(policy, rows, ARRAY_LEN(rows));
}

TEST(no_priority) {
        static const struct example rows[] = {{"idle", {{CPU_5M, "0," NOW}}, -1, 0}};
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        policy->priority_count = 0;
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

/* Rows of a column are independent. */
TEST(rows) {
        enum { ROWS = 3 };
        static const double cpu[ROWS] = {0.9, 0.1, 0.9};
        static const int64_t expires[ROWS] = {NOW_UNIX_MS + 1, NOW_UNIX_MS + 1, NOW_UNIX_MS};
        static const double hot[ROWS] = {0, 1, 0};
        static const int rejected_by[ROWS] = {0, -1, -1}, score100[ROWS] = {9, 80, 0};
        _cleanup_(policy_freep) struct policy *policy = crane_policy();
        const double *usage_columns[] = {cpu};
        const int64_t *expires_columns[] = {expires};
        const struct reading_columns columns = {usage_columns, expires_columns, hot, expires};

        policy->metric_count = policy->predicate_count = policy->priority_count = 1;
        policy->priorities[0].weight = 1;
        for (size_t row = 0; row < ROWS; row++) {
                assert_int_equal(verdict_filter(policy, &columns, row, NOW_UNIX_MS).rejected_by,
                                 rejected_by[row]);
                /* (1 - 0.9) * 100 is a hair below 10 in doubles, and truncated: as crane has it. */
                assert_int_equal(verdict_score100(policy, &columns, row, NULL, NOW_UNIX_MS),
                                 score100[row]);
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

/* scale: relative: cpu as a share of the busiest candidate's, memory as before. */
TEST(relative) {
        enum { ROWS = 5 };
        static const double cpu[ROWS] = {0.1, 0.4, 0.8, 0, 0.2}, mem[ROWS] = {0.5, 0.5, 0, 0, 0};
        static const int64_t fresh = NOW_UNIX_MS + 1, expired = NOW_UNIX_MS;
        static const int64_t expires[ROWS] = {fresh, fresh, expired, fresh, fresh};
        static const int64_t mem_expires[ROWS] = {fresh, fresh, fresh, fresh, fresh};
        static const double hot[ROWS] = {0};
        static const struct {
                const char *name;
                size_t count;
                uint32_t rows[4];
                double largest_ratio;
                int score100[4];
        } calls[] = {
                {"the busier is full", 2, {0, 1}, 0.4, {62, 25}},
                {"in any order", 2, {1, 0}, 0.4, {25, 62}},
                {"one alone", 1, {0}, 0.1, {25}},
                {"twice the same", 2, {0, 0}, 0.1, {25, 25}},
                {"an expired one does not count", 3, {0, 1, 2}, 0.4, {62, 25, 50}},
                {"only an expired one", 1, {2}, 0, {50}},
                {"nobody uses anything", 1, {3}, 0, {100}},
                {"rows that are none", 3, {ROWS, 0, UINT32_MAX}, 0.1, {-1, 25, -1}},
                {"nobody", 0, {0}, 0, {0}},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();
        const double *usage_columns[] = {mem, cpu};
        const int64_t *expires_columns[] = {mem_expires, expires};
        const struct reading_columns columns = {usage_columns, expires_columns, hot, expires};

        assert_false(policy_is_relative(policy));
        policy->metric_count = policy->priority_count = 2;
        policy->priorities[0] = (struct policy_priority){.metric = 0, .weight = 1};
        policy->priorities[1] = (struct policy_priority){
                .metric = 1, .weight = 1, .scale = POLICY_SCALE_RELATIVE};
        assert_true(policy_is_relative(policy));
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                struct verdict_largest largest;
                verdict_find_largest(policy, &columns, ROWS, calls[i].rows, calls[i].count,
                                     NOW_UNIX_MS, &largest);
                if (largest.usage_ratio[1] != calls[i].largest_ratio)
                        fail_msg("%s: largest %g", calls[i].name, largest.usage_ratio[1]);
                for (size_t k = 0; k < calls[i].count; k++) {
                        uint32_t row = calls[i].rows[k];
                        int want = calls[i].score100[k];
                        int got = row < ROWS ? verdict_score100(policy, &columns, row, &largest,
                                                                NOW_UNIX_MS)
                                             : -1;
                        if (got != want)
                                fail_msg("%s: %zu gave %d", calls[i].name, k, got);
                }
        }
        /* Not among the candidates: as if it were. Alone, it is the busiest of all. */
        const struct verdict_largest small = {.usage_ratio = {0, 0.1}};
        assert_int_equal(verdict_score100(policy, &columns, 4, &small, NOW_UNIX_MS), 50);
        assert_int_equal(verdict_score100(policy, &columns, 4, NULL, NOW_UNIX_MS), 50);
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
