/*
 * Metric names: `<resource>_usage_<statistic>_<window>`. The name is the query, as in crane's
 * policies, but with more resources and statistics. Other names are valid as well: a source must
 * then deliver the value under that name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/nearest.h"
#include "policy/metric_resource.h"

enum { METRIC_NAME_MAX = 63 }; /* an annotation key's name part may have 63 characters */

enum metric_statistic {
        METRIC_AVG, /* mean over the window */
        METRIC_MAX, /* max_avg, or max: largest 5-minute mean within the window */
        METRIC_P50,
        METRIC_P90,
        METRIC_P95,
        METRIC_P99, /* the P values: quantiles of the 5-minute means within the window */
};

struct metric_query {
        unsigned resource; /* enum metric_resource; beyond it, a resource of the policy */
        enum metric_statistic statistic;
        int64_t window_ms; /* > 0 */
};

/**
 * metric_query_parse() - read a name as a query over windows of the resource @resource_name
 * @resource: its number, which the query gets
 * Return: false if @name does not follow the grammar; a source may still deliver the metric
 */
_must_check_ bool metric_query_parse(const char *name, const char *resource_name, unsigned resource,
                                     struct metric_query *ret);

/**
 * metric_query_offer() - offer the metrics of a resource as corrections of a misspelt name
 *
 * The offered names have each statistic, and the window in which the misspelt name ends, or else
 * 5m. A name with another first letter than @resource_name gets no offer.
 * @nearest: the search for a correction; its candidate is NULL or in @ret
 * @ret:     the nearest name so far
 */
void metric_query_offer(const char *resource_name, struct nearest *nearest,
                        char ret[static METRIC_NAME_MAX + 1]);

/** metric_name_is_valid() - @name can be the key of an annotation: 1 to 63 of [A-Za-z0-9._-], the
 * first and the last alphanumeric */
bool metric_name_is_valid(const char *name);
