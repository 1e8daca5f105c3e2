/* A policy that is accepted holds what the programs rely on, and prints as an equal policy. */
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "fuzz.h"
#include "policy/policy.h"
#include "tests/policy_equal.h"
#include "tests/policy_print.h"

/* What struct policy promises its readers. */
static void check_promises(const struct policy *policy) {
        double weights = 0;

        for (size_t i = 0; i < policy->metric_count; i++) {
                require(metric_name_is_valid(policy->metrics[i].name));
                require(policy_metric_index(policy, policy->metrics[i].name) == (int)i);
                require(policy->metrics[i].period_ms >= 0);
                require(!policy->metrics[i].is_query ||
                        policy->metrics[i].query.resource <
                                METRIC_RESOURCE_COUNT + policy->resource_count);
        }
        for (size_t i = 0; i < policy->resource_count; i++) {
                const struct policy_resource *resource = &policy->resources[i];
                require(metric_name_is_valid(resource->name) && resource->series[0] != '\0');
                require(number_is_finite(resource->capacity) && resource->capacity >= 0);
                require((resource->capacity > 0) == (resource->capacity_series[0] == '\0'));
                require(resource->match_count <= POLICY_MAX_MATCHES);
        }
        for (size_t i = 0; i < policy->predicate_count; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                require(predicate->metric < policy->metric_count);
                require(policy->metrics[predicate->metric].period_ms > 0);
                require(predicate->limit_ratio >= 0 && predicate->limit_ratio <= 1);
                size_t reason_len = strlen(predicate->reason);
                /* Not cut, and no format: the scheduler's event recorder takes it for one. */
                require(reason_len > 0 && reason_len + 1 < sizeof(predicate->reason) &&
                        !strchr(predicate->reason, '%'));
        }
        for (size_t i = 0; i < policy->priority_count; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                require(priority->metric < policy->metric_count);
                require(policy->metrics[priority->metric].period_ms > 0);
                require(priority->weight >= 0);
                weights += priority->weight;
        }
        require(number_is_finite(weights) && (weights > 0) == (policy->priority_count > 0));
        for (size_t i = 0; i < policy->hot_value_count; i++)
                require(policy->hot_values[i].time_range_ms > 0 && policy->hot_values[i].count > 0);
        for (size_t i = 0; i < size_min(policy->warning_count, POLICY_MAX_WARNINGS); i++)
                require(policy->warnings[i][0] != '\0');
}

static void check_round_trip(const struct policy *policy) {
        _cleanup_(buf_done) struct buf first = BUF_INIT(TREE_MAX_BYTES);
        _cleanup_(buf_done) struct buf second = BUF_INIT(TREE_MAX_BYTES);
        _cleanup_(policy_freep) struct policy *again = NULL;

        policy_print(policy, &first);
        require(!first.overflow);
        require(policy_parse(first.data, first.len, false, &again, NULL) == 0);
        for (size_t i = 0; i < size_min(again->warning_count, POLICY_MAX_WARNINGS); i++)
                require(!strstr(again->warnings[i], "unknown field"));
        require(policy_equal(policy, again));
        policy_print(again, &second);
        require(strcmp(first.data, second.data) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(policy_freep) struct policy *policy = NULL;
        _cleanup_(policy_freep) struct policy *strict = NULL;
        struct error err = ERROR_NULL;
        int r = policy_parse((const char *)data, size, false, &policy, &err);

        require((r < 0) == (err.msg[0] != '\0') && err.code == r && (r < 0) == !policy);
        bool is_strict = policy_parse((const char *)data, size, true, &strict, NULL) == 0;
        require(!is_strict || policy); /* strict accepts nothing more */
        if (!policy)
                return 0;
        check_promises(policy);
        check_round_trip(policy);
        return 0;
}
