#include "policy/policy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/annotation.h"

const char *const policy_series_type_names[] = {
        [POLICY_GAUGE] = "gauge", [POLICY_COUNTER] = "counter", NULL};
const char *const policy_reduce_names[] = {
        [POLICY_REDUCE_MAX] = "max",
        [POLICY_REDUCE_MEAN] = "mean",
        [POLICY_REDUCE_SUM] = "sum",
        [POLICY_REDUCE_MIN] = "min",
        NULL,
};
const char *const policy_scale_names[] = {
        [POLICY_SCALE_ABSOLUTE] = "absolute", [POLICY_SCALE_RELATIVE] = "relative", NULL};
const char *const policy_scoring_names[] = {
        [POLICY_SCORING_ABSOLUTE] = "absolute",
        [POLICY_SCORING_SPREAD] = "spread",
        [POLICY_SCORING_ESTIMATE] = "estimate",
        NULL,
};
const char *const policy_over_limit_names[] = {
        [POLICY_OVER_LIMIT_REJECT] = "reject", [POLICY_OVER_LIMIT_LAST] = "last", NULL};
const char *const policy_when_all_over_names[] = {
        [POLICY_ALL_OVER_REJECT] = "reject", [POLICY_ALL_OVER_PASS] = "pass", NULL};
const char *const policy_shortlist_for_names[] = {
        [POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES] = "withoutPreferences",
        [POLICY_SHORTLIST_FOR_ALL] = "all",
        NULL,
};

void policy_free(struct policy *policy) {
        if (!policy)
                return;
        for (size_t i = 0; i < POLICY_MAX_WARNINGS; i++)
                free(policy->warnings[i]);
        free(policy->text);
        free(policy);
}

int policy_metric_index(const struct policy *policy, const char *name) {
        for (size_t i = 0; i < policy->metric_count; i++)
                if (strcmp(policy->metrics[i].name, name) == 0)
                        return (int)i;
        return -1;
}

static bool selector_matches(const struct policy_selector *selector,
                             const struct kept_texts *labels) {
        for (size_t i = 0; i < selector->count; i++) {
                const char *value = kept_texts_get(labels, selector->labels[i].name);
                if (!value || strcmp(value, selector->labels[i].value) != 0)
                        return false;
        }
        return true;
}

size_t policy_pool_of(const struct policy *policy, const struct kept_texts *labels) {
        for (size_t i = 0; i < policy->pool_count; i++)
                if (selector_matches(&policy->pools[i].selector, labels))
                        return i + 1;
        return 0;
}

static double limit_ratio_of(const struct policy *policy, struct policy_range of, size_t metric) {
        for (size_t i = of.begin; i < of.end; i++)
                if (policy->predicates[i].metric == metric)
                        return policy->predicates[i].limit_ratio;
        return 0;
}

double policy_limit_ratio(const struct policy *policy, size_t pool, size_t metric) {
        return limit_ratio_of(policy, policy_pool_predicates(policy, pool), metric);
}

bool policy_pool_uses(const struct policy *policy, size_t pool, size_t metric) {
        struct policy_range weights = policy_pool_priorities(policy, pool);
        bool is_used = policy_limit_ratio(policy, pool, metric) > 0;

        for (size_t i = weights.begin; i < weights.end; i++)
                is_used |= policy->priorities[i].metric == metric &&
                           policy->priorities[i].weight > 0;
        for (size_t i = 0; i < policy->rule_count; i++)
                is_used |= limit_ratio_of(policy, policy->rules[i].limits, metric) > 0;
        return is_used;
}

bool policy_uses(const struct policy *policy, size_t metric) {
        bool is_used = false;

        for (size_t pool = 0; pool <= policy->pool_count; pool++)
                is_used |= policy_pool_uses(policy, pool, metric);
        return is_used;
}

bool policy_is_of_others(const struct policy *policy, size_t pool, size_t metric) {
        return !policy_pool_uses(policy, pool, metric) && policy_uses(policy, metric);
}

static bool labels_equal(const struct policy_label *a, const struct policy_label *b, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].value, b[i].value) != 0)
                        return false;
        return true;
}

size_t policy_shortest_cpu_mean(const struct policy *policy) {
        size_t shortest = policy->metric_count;

        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                if (metric->is_query && metric->query.resource == METRIC_CPU &&
                    metric->query.statistic == METRIC_AVG &&
                    (shortest == policy->metric_count ||
                     metric->query.window_ms < policy->metrics[shortest].query.window_ms))
                        shortest = i;
        }
        return shortest;
}

bool policy_is_relative(const struct policy *policy) {
        for (size_t i = 0; i < policy->priority_total; i++)
                if (policy->priorities[i].scale == POLICY_SCALE_RELATIVE)
                        return true;
        return false;
}

char *policy_warnings_text(const struct policy *policy) {
        size_t count = policy->warning_count;

        if (count == 0)
                return NULL;
        return xasprintf("%zu warning%s: %s", count, count == 1 ? "" : "s, such as",
                         policy->warnings[0]);
}

const char *policy_resource_name(const struct policy *policy, unsigned resource) {
        if (resource < METRIC_RESOURCE_COUNT)
                return metric_resource_rows[resource].name;
        assert(resource - METRIC_RESOURCE_COUNT < policy->resource_count);
        return policy->resources[resource - METRIC_RESOURCE_COUNT].name;
}

const char *policy_metric_exporter(const struct policy *policy,
                                   const struct policy_metric *metric) {
        if (!metric->is_query || metric->query.resource < METRIC_RESOURCE_COUNT)
                return "";
        return policy->resources[metric->query.resource - METRIC_RESOURCE_COUNT].exporter;
}

bool policy_resource_equal(const struct policy_resource *a, const struct policy_resource *b) {
        return strcmp(a->name, b->name) == 0 && strcmp(a->exporter, b->exporter) == 0 &&
               strcmp(a->series, b->series) == 0 && a->type == b->type && a->reduce == b->reduce &&
               a->match_count == b->match_count &&
               labels_equal(a->matches, b->matches, a->match_count) && a->capacity == b->capacity &&
               strcmp(a->capacity_series, b->capacity_series) == 0;
}

bool policy_query_parse(const struct policy *policy, const char *name, struct metric_query *ret) {
        for (unsigned i = 0; i < METRIC_RESOURCE_COUNT + policy->resource_count; i++)
                if (metric_query_parse(name, policy_resource_name(policy, i), i, ret))
                        return true;
        return false;
}

bool policy_lacks_metric(const struct policy *policy, const char *key) {
        size_t len = strlen(key), suffix_len = strlen(ANNOTATION_PEAK);
        bool is_peak = len > suffix_len && strcmp(key + len - suffix_len, ANNOTATION_PEAK) == 0;
        _cleanup_(freep) char *metric = xmemdup0(key, is_peak ? len - suffix_len : len);
        struct metric_query query;

        return policy_query_parse(policy, metric, &query) &&
               policy_metric_index(policy, metric) < 0;
}
