/*
 * Metric names: `<resource>_usage_<statistic>_<window>`; the name is the query (as in crane's
 * policies, with more resources and statistics). Any other name is valid too, for values that a
 * source provides as they are.
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
        METRIC_MAX,     /* the same as max_avg, by its plain name */
        METRIC_P50,
        METRIC_P90,
        METRIC_P95,
        METRIC_P99, /* quantiles of the 5-minute means within the window */
};

struct metric_query {
        unsigned resource; /* enum metric_resource; from METRIC_RESOURCE_COUNT on: the policy's own
                            */
        enum metric_statistic statistic;
        int64_t window_ms; /* > 0 */
};

/**
 * metric_query_parse() - read a name as a query over windows
 * Return: false when @name does not follow the grammar (a source may still provide it)
 */
_must_check_ bool metric_query_parse(const char *name, struct metric_query *ret);

/**
 * metric_query_parse_for() - the same for a single resource, which is called @resource_name
 * @resource: what becomes the query's resource
 */
_must_check_ bool metric_query_parse_for(const char *name, const char *resource_name,
                                         unsigned resource, struct metric_query *ret);

/**
 * metric_query_offer() - offer a misspelt name its like: `<resource_name>_usage_<statistic>` with
 * the window that the name ends in, or else 5m; nothing to one with another first letter
 * @nearest: of the name; its candidate is in @ret, or NULL
 * @ret:     the nearest so far
 */
void metric_query_offer(const char *resource_name, struct nearest *nearest,
                        char ret[static METRIC_NAME_MAX + 1]);

/** metric_name_is_valid() - 1 to 63 of [A-Za-z0-9._-], begins and ends alphanumeric: a legal key */
bool metric_name_is_valid(const char *name);

/**
 * metric_resource_name() - "cpu", "mem", ...
 * @resource: below METRIC_RESOURCE_COUNT; policy_resource_name() has a policy's own as well
 */
const char *metric_resource_name(unsigned resource);
