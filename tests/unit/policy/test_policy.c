/* Reading policies that are right, or merely odd. What is wrong: test_policy_errors. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codec/json.h"
#include "policy_text.h"
#include "tests/crane_policy.h"
#include "tests/unit/fixture/rows.h"

#define SYNC                                                                                       \
        "spec:\n"                                                                                  \
        "  syncPolicy:\n"                                                                          \
        "  - {name: cpu_usage_avg_5m, period: 3m}\n" /* line 5 */

/* What they decide: test_shipped_policies.c, test_verdict.c */
TEST(shipped) {
        _cleanup_(policy_freep) struct policy *crane = crane_policy();
        _cleanup_(policy_freep) struct policy *builtin = policy_default();
        const struct policy *const both[] = {crane, builtin};

        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
                assert_string_equal(both[i]->name, "default");
                assert_int_equal(both[i]->warning_count, 0);
                assert_null(policy_warnings_text(both[i]));
                for (size_t m = 0; m < both[i]->metric_count; m++)
                        assert_int_equal(policy_metric_index(both[i], both[i]->metrics[m].name), m);
                assert_int_equal(policy_metric_index(both[i], "cpu_usage_avg_1m"), -1);
                assert_round_trip(both[i]);
        }
}

/* Metrics of the policies of the table that have none of their own. */
static const char metrics[] = "  syncPolicy:\n"
                              "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                              "  - {name: mem_usage_avg_1h, period: 3m}\n"
                              "  - {name: net_usage_avg_5m, period: 3m}\n"
                              "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                              "  - {name: cpu_usage_max_avg_50m, period: 15m}\n"
                              "  - {name: gauge, period: 3m}\n"
                              "  - {name: cpu_usage_max_1h, period: 15m}\n"; /* line 11 */

static void check_printed(const struct policy *policy, const char *place, char *parts) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);

        policy_print(policy, &text);
        for (char *part; (part = strsep(&parts, "|"));) {
                bool is_absent = *part == '!';
                if (!strstr(text.data, part + is_absent) != is_absent)
                        fail_msg("%s: %s\n%s", place, part, text.data);
        }
}

/* Return: whether one of them is an error when the policy is read strictly */
static bool check_warnings(const struct policy *policy, const char *place, char *warnings) {
        size_t count = 0;
        bool is_fatal = false;

        while (warnings && *warnings) {
                const char *warning = strsep(&warnings, "|");
                bool is_error = *warning == '!';
                is_fatal |= is_error;
                if (count >= policy->warning_count ||
                    strcmp(policy->warnings[count++], warning + is_error) != 0)
                        fail_msg("%s: not the warning %s", place, warning);
        }
        if (count != policy->warning_count)
                fail_msg("%s: %s", place, policy->warnings[count]);
        return is_fatal;
}

TEST(table) {
        for (struct rows rows = rows_open("policies.tsv"); rows_next(&rows);) {
                const char *spec = rows_unescape(rows.cells[0]), *place = rows.place;
                _cleanup_(freep) char *text = xasprintf(
                        HEAD "spec:\n%s  %s\n", strstr(spec, "syncPolicy") ? "" : metrics, spec);
                _cleanup_(policy_freep) struct policy *policy = parse(text, false), *strict = NULL;
                struct error err = ERROR_NULL;
                bool is_fatal = check_warnings(policy, place, rows.cells[2]);
                int r = policy_parse(text, strlen(text), true, &strict, &err);
                if (r != (is_fatal ? -EINVAL : 0) ||
                    (is_fatal && strcmp(err.msg, policy->warnings[0]) != 0))
                        fail_msg("%s: read strictly: %s", place, err.msg);
                check_printed(policy, place, rows.cells[1]);
                if (!is_fatal)
                        assert_round_trip(policy);
        }
}

TEST(reason_of_a_limit) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD SYNC "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 65}]\n", true);

        assert_string_equal(policy->predicates[0].reason, "cpu_usage_avg_5m above 0.65");
}

TEST(shortest_cpu_mean) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD
                "spec:\n"
                "  syncPolicy: [{name: heat, period: 3m}, {name: cpu_usage_avg_5m, period: 3m}, "
                "{name: cpu_usage_avg_120s, period: 3m}, {name: cpu_usage_avg_1h, period: 3m}, "
                "{name: mem_usage_avg_1m, period: 3m}, {name: cpu_usage_max_1m, period: 3m}]\n",
                true);

        assert_int_equal(policy_shortest_cpu_mean(policy), 2);
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
        _cleanup_(policy_freep) struct policy *policy = NULL, *again = NULL;
        _cleanup_(policy_freep) struct policy *from_text = parse(text, true);

        assert_int_equal(json_parse(text, sizeof(text) - 1, &json, NULL), 0);
        assert_int_equal(policy_from_object(json, true, &policy, NULL), 0);
        assert_true(policy_equal(policy, from_text));
        assert_string_equal(from_text->text, text);
        again = parse(policy->text, true);
        assert_true(policy_equal(policy, again));
        assert_null(strstr(policy->text, "managedFields"));
        assert_string_equal(policy->name, "default");
        assert_true(policy->metrics[0].period_ms == 180000);
        assert_true(policy->predicates[0].limit_ratio == 0.1);
        assert_true(policy->priorities[0].weight == 9.403665459331014);

        /* An error has no line then. */
        struct error err = ERROR_NULL;
        struct policy *untouched = from_text;
        json_object_set_new(json, "kind", json_integer(7));
        assert_int_equal(policy_from_object(json, true, &untouched, &err), -EINVAL);
        assert_string_equal(err.msg, "kind: expected DynamicSchedulerPolicy, got 7");
        assert_ptr_equal(untouched, from_text);
        assert_int_equal(policy_from_object(json, true, &untouched, NULL), -EINVAL);
}

/* A metric may come before the resource that it names. */
TEST(own_resources) {
        _cleanup_(policy_freep) struct policy *policy = parse(
                HEAD "spec:\n"
                     "  syncPolicy:\n"
                     "  - {name: gpu_usage_avg_5m, period: 3m}\n"
                     "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                     "  - {name: gpu_mem_usage_p95_1h, period: 3m}\n"
                     "  - {name: gpu_server_usage_avg_5m, period: 3m}\n"
                     "  metrics:\n"
                     "  - {name: gpu_mem, series: used, kind: gauge, capacitySeries: total}\n"
                     "  - {name: gpu, series: busy, kind: gauge, capacity: 1}\n",
                true);
        struct metric_query query;

        assert_int_equal(policy->metrics[0].query.resource, METRIC_RESOURCE_COUNT + 1);
        assert_int_equal(policy->metrics[1].query.resource, METRIC_CPU);
        assert_int_equal(policy->metrics[2].query.resource, METRIC_RESOURCE_COUNT);
        assert_int_equal(policy->metrics[2].query.statistic, METRIC_P95);
        assert_false(policy->metrics[3].is_query);
        assert_string_equal(policy_resource_name(policy, METRIC_MEM), "mem");
        assert_string_equal(policy_resource_name(policy, METRIC_RESOURCE_COUNT + 1), "gpu");
        assert_true(policy_query_parse(policy, "gpu_usage_max_7d", &query));
        assert_false(policy_query_parse(policy, "gpu_usage_max_7", &query));
        assert_round_trip(policy);
}
