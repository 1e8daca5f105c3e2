/* Whether two policies decide alike; what the round trips of tests and fuzz targets check. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "policy/policy.h"

static inline bool policy_metric_equal(const struct policy_metric *a,
                                       const struct policy_metric *b) {
        if (strcmp(a->name, b->name) != 0 || a->period_ms != b->period_ms ||
            a->is_query != b->is_query)
                return false;
        return !a->is_query || (a->query.resource == b->query.resource &&
                                a->query.statistic == b->query.statistic &&
                                a->query.window_ms == b->query.window_ms);
}

static inline bool policy_pools_equal(const struct policy *a, const struct policy *b) {
        if (a->pool_count != b->pool_count)
                return false;
        for (size_t i = 0; i < a->pool_count; i++) {
                const struct policy_selector *p = &a->pools[i].selector, *q = &b->pools[i].selector;
                if (p->count != q->count)
                        return false;
                for (size_t k = 0; k < p->count; k++)
                        if (strcmp(p->labels[k].name, q->labels[k].name) != 0 ||
                            strcmp(p->labels[k].value, q->labels[k].value) != 0)
                                return false;
        }
        return true;
}

static inline bool policy_equal(const struct policy *a, const struct policy *b) {
        if (strcmp(a->name, b->name) != 0 || a->metric_count != b->metric_count ||
            a->predicate_count != b->predicate_count || a->priority_count != b->priority_count ||
            a->predicate_total != b->predicate_total || a->rule_count != b->rule_count ||
            a->priority_total != b->priority_total || !policy_pools_equal(a, b) ||
            a->hot_value_count != b->hot_value_count || a->scoring != b->scoring ||
            a->when_all_over != b->when_all_over || a->shortlist != b->shortlist ||
            a->shortlist_for != b->shortlist_for || a->resource_count != b->resource_count ||
            a->level_count != b->level_count || a->idle_line_ratio != b->idle_line_ratio ||
            a->idle_peak != b->idle_peak)
                return false;
        for (size_t i = 0; i < a->level_count; i++)
                if (a->level_ratios[i] != b->level_ratios[i])
                        return false;
        for (size_t i = 0; i < POLICY_MAX_RULES; i++) {
                const struct policy_rule *p = &a->rules[i], *q = &b->rules[i];
                if (p->is_exempt != q->is_exempt || p->limits.begin != q->limits.begin ||
                    p->limits.end != q->limits.end || p->priority_below != q->priority_below ||
                    strcmp(p->priority_class, q->priority_class) != 0 ||
                    p->namespace_count != q->namespace_count || p->labels.count != q->labels.count)
                        return false;
                for (size_t n = 0; n < p->namespace_count; n++)
                        if (strcmp(p->namespaces[n], q->namespaces[n]) != 0)
                                return false;
        }
        for (size_t i = 0; i < a->resource_count; i++)
                if (!policy_resource_equal(&a->resources[i], &b->resources[i]))
                        return false;
        for (size_t i = 0; i < a->metric_count; i++)
                if (!policy_metric_equal(&a->metrics[i], &b->metrics[i]))
                        return false;
        for (size_t i = 0; i < a->predicate_total; i++) {
                const struct policy_predicate *p = &a->predicates[i], *q = &b->predicates[i];
                if (p->metric != q->metric || p->limit_ratio != q->limit_ratio ||
                    p->over_limit != q->over_limit || strcmp(p->reason, q->reason) != 0)
                        return false;
        }
        for (size_t i = 0; i < a->priority_total; i++) {
                const struct policy_priority *p = &a->priorities[i], *q = &b->priorities[i];
                if (p->metric != q->metric || p->weight != q->weight || p->scale != q->scale ||
                    p->target_ratio != q->target_ratio)
                        return false;
        }
        for (size_t i = 0; i < a->hot_value_count; i++) {
                const struct policy_hot_value *p = &a->hot_values[i], *q = &b->hot_values[i];
                if (p->time_range_ms != q->time_range_ms || p->count != q->count)
                        return false;
        }
        return true;
}
