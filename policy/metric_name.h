/*
 * Metric names: `<resource>_usage_<statistic>_<window>`. The name is the query, as in crane's
 * policies, but with more resources and statistics. Any other name is valid, too, for a value that
 * a source delivers ready-made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/nearest.h"
#include "policy/metric_resource.h"

enum { METRIC_NAME_MAX = 63 }; /* an annotation key's name part may have 63 characters */

enum metric_statistic {
        METRIC_AVG,     /* mean over the window */
        METRIC_MAX_AVG, /* largest 5-minute mean within the window */
        METRIC_MAX,     /* another name for max_avg */
        METRIC_P50,
        METRIC_P90,
        METRIC_P95,
        METRIC_P99, /* quantiles of the 5-minute means within the window */
};

struct metric_query {
        unsigned resource; /* enum metric_resource; above it, one of the policy's own */
        enum metric_statistic statistic;
        int64_t window_ms; /* > 0 */
};

/**
 * metric_query_parse() - read a name as a query over windows
 * Return: false if @name does not follow the grammar; a source may still deliver it
 */
_must_check_ bool metric_query_parse(const char *name, struct metric_query *ret);

/**
 * metric_query_parse_for() - the same for only one resource, which is called @resource_name
 * @resource: the number that the query gets
 */
_must_check_ bool metric_query_parse_for(const char *name, const char *resource_name,
                                         unsigned resource, struct metric_query *ret);

/**
 * metric_query_offer() - compare a misspelt name with `<resource_name>_usage_<statistic>` and the
 * window that the name ends in, or else 5m. A name with another first letter is not compared
 * @nearest: the search for the name; its candidate is in @ret, or NULL
 * @ret:     the nearest name so far
 */
void metric_query_offer(const char *resource_name, struct nearest *nearest,
                        char ret[static METRIC_NAME_MAX + 1]);

/** metric_name_is_valid() - can be an annotation's key: 1 to 63 of [A-Za-z0-9._-], the first and
 * the last one alphanumeric */
bool metric_name_is_valid(const char *name);
