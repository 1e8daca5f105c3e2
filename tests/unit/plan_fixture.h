/* The policy and the values that tests of the plan share. */
#pragma once

#include <stdio.h>

#include "base/clock.h"
#include "controller/track/plan.h"

/* 2026-07-23T11:25:54Z */
static const int64_t start_unix_ms = INT64_C(1784805954000);

static inline void add_metric(struct policy *policy, const char *name, int64_t period_ms) {
        struct policy_sync *metric = &policy->sync[policy->sync_count++];

        snprintf(metric->name, sizeof(metric->name), "%s", name);
        metric->period_ms = period_ms;
        metric->is_query = metric_query_parse(name, &metric->query);
}

/* The default policy, as far as the plan looks at it. */
static inline void fill_policy(struct policy *policy) {
        *policy = (struct policy){0};
        add_metric(policy, "cpu_usage_avg_5m", 3 * MS_PER_MIN);
        add_metric(policy, "cpu_usage_max_avg_1h", 15 * MS_PER_MIN);
        add_metric(policy, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR);
        add_metric(policy, "mem_usage_avg_5m", 3 * MS_PER_MIN);
        add_metric(policy, "mem_usage_max_avg_1h", 15 * MS_PER_MIN);
        add_metric(policy, "mem_usage_max_avg_1d", 3 * MS_PER_HOUR);
        policy->predicate_count = policy->predicate_total = 1;
        policy->predicates[0] = (struct policy_predicate){.metric = 0, .limit_ratio = 0.65};
        policy->hot_value_count = 1;
        policy->hot_values[0] = (struct policy_hot_value){5 * MS_PER_MIN, 5};
}

static inline void all_usable(const struct policy *policy, struct plan_values *values,
                              double ratio) {
        *values = (struct plan_values){.usable = (UINT64_C(1) << policy->sync_count) - 1};
        for (size_t i = 0; i < policy->sync_count; i++)
                values->ratio[i] = ratio;
}
