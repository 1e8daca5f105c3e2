#include "policy/policy_advice.h"

#include "base/clock.h"
#include "base/duration.h"

static const int64_t estimate_period_max_ms = 15 * MS_PER_MIN;

/* An old peak stays in it for an hour or more. */
static bool is_long_maximum(const struct policy_metric *metric) {
        const struct metric_query *query = &metric->query;

        return metric->is_query && query->window_ms >= MS_PER_HOUR &&
               query->statistic == METRIC_MAX;
}

static bool is_estimated(const struct policy_metric *metric) {
        const struct metric_query *query = &metric->query;

        return metric->is_query && query->statistic == METRIC_AVG &&
               (query->resource == METRIC_CPU || query->resource == METRIC_MEM);
}

/* A limit on a long maximum blocks each node for the whole window. Waiting pods then fill the nodes
 * that are not blocked yet, until all are.
 * @limits: the range of the list @field, if there is one */
static void advise_limits(const struct reader_map *parent, const char *field,
                          struct policy_range limits, const struct policy *policy) {
        struct reader_map item = {0};

        for (size_t i = 0; reader_map_item(parent, field, POLICY_MAX_METRICS, i, &item); i++) {
                const struct policy_predicate *predicate = &policy->predicates[limits.begin + i];
                const struct policy_metric *metric = &policy->metrics[predicate->metric];
                char window[DURATION_TEXT_MAX];
                if (predicate->limit_ratio == 0 ||
                    predicate->over_limit != POLICY_OVER_LIMIT_REJECT || !is_long_maximum(metric))
                        continue;
                duration_format(metric->query.window_ms, window);
                reader_warn(&item, "name",
                            "%s blocks a node for %s after one peak: waiting pods then fill the "
                            "other nodes, until every node is blocked",
                            metric->name, window);
        }
}

/* @priorities: the range of the list, if there is one */
static void advise_priorities(const struct reader_map *parent, struct policy_range priorities,
                              const struct policy *policy) {
        struct reader_map item = {0};
        bool has_estimate = false;

        for (size_t i = 0; reader_map_item(parent, "priority", POLICY_MAX_METRICS, i, &item); i++) {
                const struct policy_priority *priority = &policy->priorities[priorities.begin + i];
                const struct policy_metric *metric = &policy->metrics[priority->metric];
                if (priority->weight == 0)
                        continue;
                has_estimate |= is_estimated(metric);
                if (is_estimated(metric) && metric->period_ms > estimate_period_max_ms)
                        reader_warn(&item, "name",
                                    "scoring: estimate begins with readings that are as old as the "
                                    "period of %s in syncPolicy: expected at most 15m, such as 3m",
                                    metric->name);
                if (is_long_maximum(metric))
                        reader_warn(
                                &item, "name",
                                "%s still includes pods that have ended; scoring: estimate uses "
                                "means",
                                metric->name);
                if (priority->scale == POLICY_SCALE_RELATIVE)
                        reader_warn(&item, "scale", "no effect with scoring: estimate");
        }
        if (!has_estimate)
                reader_warn(parent, "priority",
                            "scoring: estimate has no reading to use: expected a mean of cpu or "
                            "mem, such as cpu_usage_avg_5m");
}

static void advise_pools(const struct reader_map *spec, const struct policy *policy) {
        struct reader_map item = {0};

        for (size_t i = 0; reader_map_item(spec, "pools", POLICY_MAX_POOLS, i, &item); i++) {
                const struct policy_pool *pool = &policy->pools[i];
                advise_limits(&item, "predicate", pool->predicates, policy);
                /* An empty list means: no priorities. */
                if (policy->scoring == POLICY_SCORING_ESTIMATE &&
                    pool->priorities.begin >= policy->priority_count &&
                    pool->priorities.end > pool->priorities.begin)
                        advise_priorities(&item, pool->priorities, policy);
        }
}

static void advise_rules(const struct reader_map *spec, const struct policy *policy) {
        struct reader_map item = {0};

        for (size_t i = 0; reader_map_item(spec, "rules", POLICY_MAX_RULES, i, &item); i++)
                advise_limits(&item, "limits", policy->rules[i].limits, policy);
}

/* The scheduler's own plugins score only the nodes on the shortlist. */
static void advise_shortlist(const struct reader_map *spec, const struct policy *policy) {
        enum { FEW = 8 };

        if (policy->shortlist > 0 && policy->shortlist < FEW)
                reader_warn(spec, "extender",
                            "shortlist: %d leaves the scheduler almost no choice: pods created "
                            "together are placed on the same nodes",
                            policy->shortlist);
}

void policy_advise(const struct reader_map *spec, const struct policy *policy) {
        advise_shortlist(spec, policy);
        if (policy->scoring == POLICY_SCORING_ABSOLUTE &&
            policy->when_all_over == POLICY_ALL_OVER_REJECT)
                return;
        advise_limits(spec, "predicate", (struct policy_range){0, policy->predicate_count}, policy);
        advise_pools(spec, policy);
        advise_rules(spec, policy);
        if (policy->scoring != POLICY_SCORING_ESTIMATE)
                return;
        advise_priorities(spec, (struct policy_range){0, policy->priority_count}, policy);
        if (policy->hot_value_count > 0)
                reader_warn(spec, "hotValue",
                            "not needed with scoring: estimate, which counts recent bindings "
                            "itself");
}
