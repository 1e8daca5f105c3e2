/* Reading policies that are right, or merely odd. What is wrong: test_policy_errors. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "policy_text.h"
#include "tests/crane_policy.h"

#define SYNC                                                                                       \
        "spec:\n"                                                                                  \
        "  syncPolicy:\n"                                                                          \
        "  - {name: cpu_usage_avg_5m, period: 3m}\n" /* line 5 */

struct metric_row {
        const char *name;
        unsigned resource;
        enum metric_statistic statistic;
        int64_t window_ms, period_ms;
        double limit_ratio; /* 0: no predicate */
        double weight;      /* 0: no priority */
};

static void assert_metrics(const struct policy *policy, const struct metric_row *rows,
                           size_t count) {
        size_t predicate = 0, priority = 0;

        assert_string_equal(policy->name, "default");
        assert_int_equal(policy->warning_count, 0);
        assert_int_equal(policy->metric_count, count);
        for (size_t i = 0; i < count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                assert_string_equal(metric->name, rows[i].name);
                assert_int_equal(policy_metric_index(policy, rows[i].name), i);
                assert_true(metric->is_query && metric->query.resource == rows[i].resource &&
                            metric->query.statistic == rows[i].statistic &&
                            metric->query.window_ms == rows[i].window_ms);
                assert_true(metric->period_ms == rows[i].period_ms);
                if (rows[i].weight > 0) {
                        assert_int_equal(policy->priorities[priority].metric, i);
                        assert_true(policy->priorities[priority++].weight == rows[i].weight);
                }
                if (rows[i].limit_ratio > 0) {
                        assert_int_equal(policy->predicates[predicate].metric, i);
                        assert_true(policy->predicates[predicate++].limit_ratio ==
                                    rows[i].limit_ratio);
                }
        }
        assert_int_equal(policy->priority_count, priority);
        assert_int_equal(policy->predicate_count, predicate);
        assert_int_equal(policy_metric_index(policy, "cpu_usage_avg_1m"), -1);
}

TEST(default) {
        static const struct metric_row rows[] = {
                {"cpu_usage_avg_5m", METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN, 7 * MS_PER_MIN, 0.8,
                 1},
                {"cpu_usage_avg_2m", METRIC_CPU, METRIC_AVG, 2 * MS_PER_MIN, 7 * MS_PER_MIN, 0, 0},
                {"cpu_usage_max_avg_1h", METRIC_CPU, METRIC_MAX_AVG, MS_PER_HOUR, 15 * MS_PER_MIN,
                 0, 0},
                {"mem_usage_avg_5m", METRIC_MEM, METRIC_AVG, 5 * MS_PER_MIN, 7 * MS_PER_MIN, 0.8,
                 1},
                {"mem_usage_max_avg_1h", METRIC_MEM, METRIC_MAX_AVG, MS_PER_HOUR, 15 * MS_PER_MIN,
                 0, 0},
        };
        _cleanup_(policy_freep) struct policy *policy = policy_default();

        assert_metrics(policy, rows, ARRAY_LEN(rows));
        assert_int_equal(policy->hot_value_count, 0);
        assert_int_equal(policy->scoring, POLICY_SCORING_ESTIMATE);
        assert_string_equal(policy->predicates[0].reason, "cpu_usage_avg_5m above 0.8");
        assert_int_equal(policy->when_all_over, POLICY_ALL_OVER_PASS);
        assert_int_equal(policy->shortlist, POLICY_SHORTLIST_AUTO);
}

TEST(crane) {
        static const struct metric_row rows[] = {
                {"cpu_usage_avg_5m", METRIC_CPU, METRIC_AVG, 5 * MS_PER_MIN, 3 * MS_PER_MIN, 0.65,
                 0.2},
                {"cpu_usage_max_avg_1h", METRIC_CPU, METRIC_MAX_AVG, MS_PER_HOUR, 15 * MS_PER_MIN,
                 0.75, 0.3},
                {"cpu_usage_max_avg_1d", METRIC_CPU, METRIC_MAX_AVG, MS_PER_DAY, 3 * MS_PER_HOUR, 0,
                 0.5},
                {"mem_usage_avg_5m", METRIC_MEM, METRIC_AVG, 5 * MS_PER_MIN, 3 * MS_PER_MIN, 0.65,
                 0.2},
                {"mem_usage_max_avg_1h", METRIC_MEM, METRIC_MAX_AVG, MS_PER_HOUR, 15 * MS_PER_MIN,
                 0.75, 0.3},
                {"mem_usage_max_avg_1d", METRIC_MEM, METRIC_MAX_AVG, MS_PER_DAY, 3 * MS_PER_HOUR, 0,
                 0.5},
        };
        _cleanup_(policy_freep) struct policy *policy = crane_policy();

        assert_metrics(policy, rows, ARRAY_LEN(rows));
        assert_int_equal(policy->hot_value_count, 2);
        assert_true(policy->hot_values[0].time_range_ms == 5 * MS_PER_MIN);
        assert_true(policy->hot_values[0].count == 5);
        assert_true(policy->hot_values[1].time_range_ms == MS_PER_MIN);
        assert_true(policy->hot_values[1].count == 2);
        assert_int_equal(policy->scoring, POLICY_SCORING_ABSOLUTE);
        assert_int_equal(policy->when_all_over, POLICY_ALL_OVER_REJECT);
        assert_int_equal(policy->shortlist, 0);
}

TEST(limits) {
        static const struct {
                const char *limit;
                double limit_ratio;
                const char *reason;
        } rows[] = {
                {"0.65", 0.65, "cpu_usage_avg_5m above 0.65"},
                {"65", 0.65, "cpu_usage_avg_5m above 0.65"}, /* the fork writes percent */
                {"1", 1, "cpu_usage_avg_5m above 1"},        /* a ratio, not one percent */
                {"100", 1, "cpu_usage_avg_5m above 1"},
                {"1.5", 0.015, "cpu_usage_avg_5m above 0.015"},
                {"0", 0, "cpu_usage_avg_5m above 0"}, /* switched off */
                {"-0", 0, "cpu_usage_avg_5m above 0"},
                {"0.655", 0.655, "cpu_usage_avg_5m above 0.655"},
                {"0.57", 0.57, "cpu_usage_avg_5m above 0.57"},
                {"0.001", 0.001, "cpu_usage_avg_5m above 0.001"},
                {"6.5e-1", 0.65, "cpu_usage_avg_5m above 0.65"},
                {"0.33333333333333331", 1.0 / 3, "cpu_usage_avg_5m above 0.3333333333333333"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                for (int right = 0; right < 2; right++) {
                        _cleanup_(freep) char *text = xasprintf(
                                HEAD SYNC "  predicate:\n  - {name: cpu_usage_avg_5m, %s: %s}\n",
                                right ? "maxLimitPercent" : "maxLimitPecent", rows[i].limit);
                        _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                        assert_int_equal(policy->predicate_count, 1);
                        if (policy->predicates[0].limit_ratio != rows[i].limit_ratio)
                                fail_msg("%s gave %.17g", rows[i].limit,
                                         policy->predicates[0].limit_ratio);
                        assert_string_equal(policy->predicates[0].reason, rows[i].reason);
                }
        }
}

/* It is absent, as everywhere. */
TEST(a_spelling_that_is_null) {
        static const char *const spellings[][2] = {{"maxLimitPecent", "maxLimitPercent"},
                                                   {"maxLimitPercent", "maxLimitPecent"}};

        for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
                _cleanup_(freep) char *text = xasprintf(
                        HEAD SYNC "  predicate: [{name: cpu_usage_avg_5m, %s: null, %s: 65}]\n",
                        spellings[i][0], spellings[i][1]);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_true(policy->predicates[0].limit_ratio == 0.65);
        }
}

/* Of the metric, wherever it stands; 0 is switched off. */
TEST(limit_of_a_metric) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD SYNC "  - {name: mem_usage_avg_5m, period: 3m}\n"
                          "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0}, "
                          "{name: cpu_usage_avg_5m, maxLimitPecent: 0.6}]\n",
                true);
        size_t mem = policy->predicates[0].metric, cpu = policy->predicates[1].metric;

        assert_true(policy_limit_ratio(policy, 0, mem) == 0);
        assert_true(policy_limit_ratio(policy, 0, cpu) == 0.6);
        assert_true(policy_limit_ratio(policy, 0, policy->metric_count) == 0);
}

TEST(lenient) {
        static const struct {
                const char *spec;
                size_t metrics, priorities, hot_values;
        } rows[] = {
                {"spec: {}\n", 0, 0, 0},
                {"spec:\n  syncPolicy:\n  predicate: null\n  priority: ~\n  hotValue: []\n", 0, 0,
                 0},
                {SYNC, 1, 0, 0},
                {"spec: {syncPolicy: [{name: 'cpu_usage_avg_5m', period: \"90s\"}]}\n", 1, 0, 0},
                /* Kept, and never written: no predicate may name it. */
                {"spec: {syncPolicy: [{name: cpu_usage_avg_5m, period: 0}]}\n", 1, 0, 0},
                /* What a list refers to may stand behind it. */
                {"spec:\n  priority: [{name: gpu_duty, weight: 1}]\n"
                 "  syncPolicy: [{name: gpu_duty, period: 1h30m}]\n"
                 "  hotValue: [{count: 1, timeRange: 500ms}]\n",
                 1, 1, 1},
                {"metadata:\nstatus:\nspec: {extender: , hotValue: [{timeRange: 1m, count: 2}]}\n",
                 0, 0, 1},
                {"spec: {extender: {scoring: }}\n", 0, 0, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD "%s", rows[i].spec);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_int_equal(policy->metric_count, rows[i].metrics);
                assert_int_equal(policy->priority_count, rows[i].priorities);
                assert_int_equal(policy->hot_value_count, rows[i].hot_values);
                assert_int_equal(policy->warning_count, 0);
                assert_string_equal(policy->name, "");
        }
}

/* A metric that looks like one of the controller's. */
#define MISSPELT(name, meant)                                                                      \
        {                                                                                          \
                HEAD SYNC "  - {name: " name ", period: 3m}\n",                                    \
                        "line 6: spec.syncPolicy[1]: " name                                        \
                        " is not a <resource>_usage_<statistic>_<window> (did you mean " meant     \
                        "?)",                                                                      \
                        true                                                                       \
        }

/* A source may provide these, and they look like no other. */
TEST(names_of_sources) {
        static const char *const names[] = {"gpus",    "cpu", "net_rx",         "load",
                                            "power_w", "5m",  "gpu_usag_avg_5m"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD SYNC "  - {name: %s, period: 3m}\n",
                                                        names[i]);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_int_equal(policy->warning_count, 0);
                assert_null(policy_warnings_text(policy));
        }
}

TEST(warnings) {
        static const struct {
                const char *text;
                const char *warning;
                bool is_fatal; /* when strict */
        } rows[] = {
                {HEAD SYNC "  predicat: []\n",
                 "line 6: spec.predicat: unknown field (did you mean predicate?)", true},
                {HEAD SYNC "  Priority: []\n",
                 "line 6: spec.Priority: unknown field (did you mean priority?)", true},
                {HEAD SYNC "  rescheduler:\n    x: 1\n", "line 6: spec.rescheduler: unknown field",
                 true},
                {HEAD SYNC "metdata: {}\n",
                 "line 6: metdata: unknown field (did you mean metadata?)", true},
                {HEAD SYNC "  hotValue:\n  - timeRange: 1m\n    count: 2\n    coutn: 3\n",
                 "line 9: spec.hotValue[0].coutn: unknown field (did you mean count?)", true},
                {HEAD SYNC "  extender: {scorin: spread}\n",
                 "line 6: spec.extender.scorin: unknown field (did you mean scoring?)", true},
                {HEAD SYNC "  predicate:\n"
                           "  - {name: cpu_usage_avg_5m, maxLimitPecent: 1, maxLimit: 0.5}\n",
                 "line 7: spec.predicate[0].maxLimit: unknown field (did you mean maxLimitPecent?)",
                 true},
                {HEAD SYNC "  \"a\\e[31mb\": 1\n", "line 6: spec.a?[31mb: unknown field", true},
                MISSPELT("cpu_usage_agv_5m", "cpu_usage_avg_5m"),
                MISSPELT("cpu_usage_avg5m", "cpu_usage_avg_5m"),
                MISSPELT("cpu_usage_avg_5min", "cpu_usage_avg_5m"),
                MISSPELT("mem_usge_p95_1h", "mem_usage_p95_1h"),
                MISSPELT("psi_mem_usage_max_avg6h", "psi_mem_usage_max_avg_6h"),
                MISSPELT("cpu_usage_max", "cpu_usage_max_5m"),
                {HEAD SYNC "  - {name: power_usage_watts_5m, period: 3m}\n",
                 "line 6: spec.syncPolicy[1]: power_usage_watts_5m is not a "
                 "<resource>_usage_<statistic>_<window>, so a source must provide its values",
                 false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(policy_freep) struct policy *policy = parse(rows[i].text, false);
                assert_int_equal(policy->warning_count, 1);
                assert_string_equal(policy->warnings[0], rows[i].warning);

                _cleanup_(policy_freep) struct policy *strict = NULL;
                struct error err = ERROR_NULL;
                int r = policy_parse(rows[i].text, strlen(rows[i].text), true, &strict, &err);
                assert_int_equal(r, rows[i].is_fatal ? -EINVAL : 0);
                if (rows[i].is_fatal)
                        assert_string_equal(err.msg, rows[i].warning);
        }
}

TEST(extender) {
        static const struct {
                const char *extender;
                enum policy_scoring scoring;
                enum policy_when_all_over when_all_over;
        } rows[] = {
                {"", POLICY_SCORING_ABSOLUTE, POLICY_ALL_OVER_REJECT},
                {"scoring: absolute", POLICY_SCORING_ABSOLUTE, POLICY_ALL_OVER_REJECT},
                {"scoring: spread", POLICY_SCORING_SPREAD, POLICY_ALL_OVER_REJECT},
                {"scoring: estimate", POLICY_SCORING_ESTIMATE, POLICY_ALL_OVER_PASS},
                {"scoring: estimate, whenAllOver: ", POLICY_SCORING_ESTIMATE, POLICY_ALL_OVER_PASS},
                {"whenAllOver: reject, scoring: estimate", POLICY_SCORING_ESTIMATE,
                 POLICY_ALL_OVER_REJECT},
                {"scoring: estimate, whenAllOver: pass", POLICY_SCORING_ESTIMATE,
                 POLICY_ALL_OVER_PASS},
                {"scoring: spread, whenAllOver: pass", POLICY_SCORING_SPREAD, POLICY_ALL_OVER_PASS},
                {"whenAllOver: pass", POLICY_SCORING_ABSOLUTE, POLICY_ALL_OVER_PASS},
                {"whenAllOver: reject", POLICY_SCORING_ABSOLUTE, POLICY_ALL_OVER_REJECT},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD SYNC "  extender: {%s}\n",
                                                        rows[i].extender);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_int_equal(policy->scoring, rows[i].scoring);
                assert_int_equal(policy->when_all_over, rows[i].when_all_over);
                assert_round_trip(policy);
        }
}

TEST(shortlist) {
        static const struct {
                const char *spec;
                int places;
                enum policy_shortlist_for whom;
        } rows[] = {
                {"", 0, POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES}, /* as crane decides */
                {"  extender:\n", 0, POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
                {"  extender: {}\n", POLICY_SHORTLIST_AUTO,
                 POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
                {"  extender: {shortlist: auto, shortlistFor: all}\n", POLICY_SHORTLIST_AUTO,
                 POLICY_SHORTLIST_FOR_ALL},
                {"  extender: {shortlist: , shortlistFor: withoutPreferences}\n",
                 POLICY_SHORTLIST_AUTO, POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
                {"  extender: {shortlist: 0}\n", 0, POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
                {"  extender: {shortlist: 24}\n", 24, POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
                {"  extender: {shortlist: 100000}\n", POLICY_MAX_SHORTLIST,
                 POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD SYNC "%s", rows[i].spec);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_int_equal(policy->shortlist, rows[i].places);
                assert_int_equal(policy->shortlist_for, rows[i].whom);
                assert_round_trip(policy);
        }
}

TEST(taints) {
        static const char priority[] = "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n";
        static const struct {
                const char *spec;
                size_t count;
                double first, last;
        } rows[] = {
                {"", 0, 0, 0},
                {"  taints:\n", 0, 0, 0}, /* null is absent */
                {"  taints: {}\n", 4, 0.5, 0.8},
                {"  taints: {levels: }\n", 4, 0.5, 0.8},
                {"  taints: {levels: [1]}\n", 1, 1, 1},
                {"  taints: {levels: [0.25, 0.75]}\n", 2, 0.25, 0.75},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD SYNC "%s%s", priority, rows[i].spec);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_int_equal(policy->level_count, rows[i].count);
                if (rows[i].count > 0) {
                        assert_float_equal(policy->level_ratios[0], rows[i].first, 0);
                        assert_float_equal(policy->level_ratios[rows[i].count - 1], rows[i].last,
                                           0);
                }
                assert_round_trip(policy);
        }
}

TEST(idle) {
        static const char metrics[] = "spec:\n"
                                      "  syncPolicy:\n"
                                      "  - {name: heat, period: 3m}\n"
                                      "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                      "  - {name: cpu_usage_avg_120s, period: 3m}\n"
                                      "  - {name: cpu_usage_avg_1h, period: 3m}\n"
                                      "  - {name: mem_usage_avg_1m, period: 3m}\n"
                                      "  - {name: cpu_usage_max_avg_6h, period: 15m}\n"
                                      "  - {name: cpu_usage_max_avg_1h, period: 15m}\n";
        static const struct {
                const char *spec;
                double line_ratio;
                const char *peak;
        } rows[] = {
                {"  idle:\n", 0, NULL}, /* null is absent */
                {"  idle: {}\n", 0.65, "cpu_usage_max_avg_1h"},
                {"  idle: {line: , peak: }\n", 0.65, "cpu_usage_max_avg_1h"},
                {"  idle: {line: 1}\n", 1, "cpu_usage_max_avg_1h"},
                {"  idle: {line: 0.5, peak: 6h}\n", 0.5, "cpu_usage_max_avg_6h"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(HEAD "%s%s", metrics, rows[i].spec);
                _cleanup_(policy_freep) struct policy *policy = parse(text, true);
                assert_float_equal(policy->idle_line_ratio, rows[i].line_ratio, 0);
                if (rows[i].peak)
                        assert_string_equal(policy->metrics[policy->idle_peak].name, rows[i].peak);
                assert_int_equal(policy_shortest_cpu_mean(policy), 2);
                assert_round_trip(policy);
        }
}

TEST(many_warnings) {
        struct buf text = BUF_INIT(1 << 16);

        buf_puts(&text, HEAD SYNC);
        for (int i = 0; i < 3 * POLICY_MAX_WARNINGS; i++)
                buf_printf(&text, "  unheard-of-%d: 1\n", i);
        _cleanup_(policy_freep) struct policy *policy = parse(text.data, false);
        buf_done(&text);
        _cleanup_(freep) char *told = policy_warnings_text(policy);
        assert_string_equal(told, "96 warnings, such as: line 6: spec.unheard-of-0: unknown field");
        /* All are counted, the first ones kept. */
        assert_int_equal(policy->warning_count, 3 * POLICY_MAX_WARNINGS);
        assert_string_equal(policy->warnings[POLICY_MAX_WARNINGS - 1],
                            "line 37: spec.unheard-of-31: unknown field");
}

TEST(over_limit_and_target) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD "spec:\n"
                     "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: x, period: 3m}]\n"
                     "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.1}, {name: x, "
                     "maxLimitPecent: 50, overLimit: last}]\n"
                     "  priority: [{name: cpu_usage_avg_5m, weight: 1, target: 0.5}, {name: x, "
                     "weight: 1, scale: relative}]\n",
                true);

        assert_true(policy->has_last);
        assert_int_equal(policy->predicates[0].over_limit, POLICY_OVER_LIMIT_REJECT);
        assert_int_equal(policy->predicates[1].over_limit, POLICY_OVER_LIMIT_LAST);
        assert_true(policy->priorities[0].target_ratio == 0.5);
        assert_true(policy->priorities[1].target_ratio == 0);
}

/* A pool's lists take the place of the spec's; a list that it lacks is the spec's. */
TEST(pools) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD "spec:\n"
                     "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: x, period: 3m}]\n"
                     "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.1}]\n"
                     "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                     "  pools:\n"
                     "  - nodeSelector: {a.b/c: x, d: \"\"}\n"
                     "    predicate: [{name: x, maxLimitPecent: 0.5, overLimit: last}, {name: "
                     "cpu_usage_avg_5m, maxLimitPecent: 0.2}]\n"
                     "  - {nodeSelector: {a.b/c: x}, predicate: [], priority: [{name: x, weight: "
                     "0.5, target: 0.5}]}\n"
                     "  - {nodeSelector: {n: 1}}\n",
                true);
        static const struct {
                const char *labels;
                size_t pool;
        } rows[] = {
                {"{}", 0},
                {"{\"a.b/c\": \"x\"}", 2},
                {"{\"a.b/c\": \"x\", \"d\": \"\", \"n\": \"1\"}", 1}, /* the first one */
                {"{\"a.b/c\": \"y\", \"d\": \"\"}", 0},
                {"{\"n\": \"1\"}", 3},
                {"{\"n\": 1}", 0},
                {"[]", 0},
                {"null", 0},
        };

        assert_int_equal(policy->pool_count, 3);
        assert_int_equal(policy->predicate_count, 1);
        assert_int_equal(policy->predicate_total, 3);
        assert_true(policy->has_last);
        const struct policy_range own = policy_pool_predicates(policy, 1);
        assert_int_equal(own.begin, 1);
        assert_int_equal(own.end, 3);
        assert_string_equal(policy->predicates[2].reason, "cpu_usage_avg_5m above 0.2");
        assert_int_equal(policy_pool_priorities(policy, 1).end, 1); /* the spec's */
        assert_int_equal(policy_pool_predicates(policy, 2).begin,
                         policy_pool_predicates(policy, 2).end);
        assert_int_equal(policy_pool_priorities(policy, 2).begin, 1);
        assert_int_equal(policy_pool_predicates(policy, 3).begin, 0);
        assert_int_equal(policy_pool_predicates(policy, 3).end, 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *labels = json_loads(rows[i].labels, JSON_DECODE_ANY, NULL);
                assert_int_equal(policy_pool_of(policy, labels), rows[i].pool);
        }
        assert_int_equal(policy_pool_of(policy, NULL), 0);
        assert_round_trip(policy);
}

TEST(rules) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD
                "spec:\n"
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}]\n"
                "  rules:\n"
                "  - {match: {namespaces: [kube-system, \"ops-*\"]}, exempt: true}\n"
                "  - match: {labels: {a.b/c: \"\"}, priorityClass: batch, priorityBelow: -1}\n"
                "    limits: [{name: cpu_usage_avg_5m, maxLimitPercent: 50, overLimit: last}]\n",
                true);

        assert_int_equal(policy->rule_count, 2);
        assert_true(policy->rules[0].is_exempt);
        assert_int_equal(policy->rules[0].limits.begin, policy->rules[0].limits.end);
        assert_string_equal(policy->rules[0].namespaces[1], "ops-*");
        assert_true(policy->rules[0].priority_below == INT64_MAX);
        assert_false(policy->rules[1].is_exempt);
        assert_int_equal(policy->rules[1].limits.begin, 1);
        assert_int_equal(policy->rules[1].limits.end, 2);
        assert_string_equal(policy->rules[1].priority_class, "batch");
        assert_true(policy->rules[1].priority_below == -1);
        assert_round_trip(policy);
        assert_string_equal(policy->rules[1].labels.labels[0].name, "a.b/c");
        assert_true(policy->has_last);
        assert_int_equal(policy->predicate_count, 1);
}

/* As the API server returns it: managedFields, status and the rest are no unknown fields. */
TEST(api_object) {
        static const char text[] =
                "{\"apiVersion\": \"scheduler.policy.crane.io/v1alpha1\","
                "\"kind\": \"DynamicSchedulerPolicy\","
                "\"metadata\": {\"name\": \"default\", \"uid\": \"6f0c\", \"generation\": 3,"
                "\"resourceVersion\": \"8123\", \"annotations\": {\"a/b\": null},"
                "\"managedFields\": [{\"fieldsV1\": {\"f:spec\": {\".\": {}}}}]},"
                "\"spec\": {\"syncPolicy\": [{\"name\": \"cpu_usage_avg_5m\", \"period\": "
                "\"3m0s\"}],"
                "\"predicate\": [{\"name\": \"cpu_usage_avg_5m\", \"maxLimitPecent\": 0.1}],"
                "\"priority\": [{\"name\": \"cpu_usage_avg_5m\", \"weight\": 9.403665459331014}],"
                "\"hotValue\": null},"
                "\"status\": {\"conditions\": [{\"type\": \"Ready\"}]}}";
        json_auto_t *json = NULL;
        _cleanup_(tree_freep) struct tree *tree = NULL;
        _cleanup_(policy_freep) struct policy *policy = NULL;
        _cleanup_(policy_freep) struct policy *from_text = parse(text, true);

        assert_int_equal(json_parse(text, sizeof(text) - 1, &json, NULL), 0);
        assert_int_equal(tree_from_json(json, &tree, NULL), 0);
        assert_int_equal(policy_from_tree(tree_root(tree), true, &policy, NULL), 0);
        assert_true(policy_equal(policy, from_text));
        assert_string_equal(policy->name, "default");
        assert_true(policy->metrics[0].period_ms == 180000);
        assert_true(policy->predicates[0].limit_ratio == 0.1);
        assert_true(policy->priorities[0].weight == 9.403665459331014);

        /* An error has no line then. */
        struct error err = ERROR_NULL;
        _cleanup_(tree_freep) struct tree *bad = NULL;
        struct policy *untouched = from_text;
        json_object_set_new(json, "kind", json_integer(7));
        assert_int_equal(tree_from_json(json, &bad, NULL), 0);
        assert_int_equal(policy_from_tree(tree_root(bad), true, &untouched, &err), -EINVAL);
        assert_string_equal(err.msg, "kind: expected DynamicSchedulerPolicy, got 7");
        assert_ptr_equal(untouched, from_text);
        assert_int_equal(policy_from_tree(tree_root(bad), true, &untouched, NULL), -EINVAL);
}

TEST(own_resources) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD "spec:\n"
                     "  syncPolicy:\n" /* before what it refers to */
                     "  - {name: gpu_usage_avg_5m, period: 3m}\n"
                     "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                     "  - {name: gpu_mem_usage_p95_1h, period: 3m}\n"
                     "  - {name: gpu_server_usage_avg_5m, period: 3m}\n"
                     "  metrics:\n"
                     "  - name: gpu_mem\n"
                     "    series: DCGM_FI_DEV_FB_USED\n"
                     "    kind: gauge\n"
                     "    reduce: sum\n"
                     "    capacitySeries: DCGM_FI_DEV_FB_TOTAL\n"
                     "  - name: gpu\n"
                     "    exporter: dcgm\n"
                     "    series: DCGM_FI_DEV_GPU_UTIL\n"
                     "    kind: counter\n"
                     "    match: {gpu: 0, pod: \"\"}\n" /* a label's value needs no quotes */
                     "    capacity: 1e2\n"
                     "  - {name: xpu, series: x, kind: gauge, capacity: 1}\n",
                true);
        struct metric_query query;

        assert_int_equal(policy->resource_count, 3);
        const struct policy_resource *gpu = &policy->resources[1];
        assert_string_equal(gpu->exporter, "dcgm");
        assert_string_equal(gpu->series, "DCGM_FI_DEV_GPU_UTIL");
        assert_int_equal(gpu->type, POLICY_COUNTER);
        assert_int_equal(gpu->reduce, POLICY_REDUCE_MAX);
        assert_int_equal(gpu->match_count, 2);
        assert_string_equal(gpu->matches[0].value, "0");
        assert_string_equal(gpu->matches[1].value, "");
        assert_true(gpu->capacity == 100 && !gpu->capacity_series[0]);
        assert_true(policy->resources[0].capacity == 0);
        assert_int_equal(policy->resources[0].reduce, POLICY_REDUCE_SUM);

        assert_int_equal(policy->metrics[0].query.resource, METRIC_RESOURCE_COUNT + 1);
        assert_int_equal(policy->metrics[1].query.resource, METRIC_CPU);
        assert_int_equal(policy->metrics[2].query.resource, METRIC_RESOURCE_COUNT);
        assert_int_equal(policy->metrics[2].query.statistic, METRIC_P95);
        assert_false(policy->metrics[3].is_query);
        assert_string_equal(policy_resource_name(policy, METRIC_MEM), "mem");
        assert_string_equal(policy_resource_name(policy, METRIC_RESOURCE_COUNT + 1), "gpu");
        assert_true(policy_query_parse(policy, "xpu_usage_max_7d", &query));
        assert_false(policy_query_parse(policy, "xpu_usage_max_7", &query));

        assert_int_equal(policy->warning_count, 2);
        assert_string_equal(policy->warnings[0],
                            "line 8: spec.syncPolicy[3]: gpu_server_usage_avg_5m is not a "
                            "<resource>_usage_<statistic>_<window>, so a source must provide its "
                            "values");
        assert_string_equal(policy->warnings[1],
                            "line 5: spec.syncPolicy: spec.metrics[2] is not used: there is no "
                            "xpu_usage_<statistic>_<window>");
        assert_round_trip(policy);
}
