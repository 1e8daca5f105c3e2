/*
 * What pods of a workload used, as a histogram of samples that lose half of their weight in a day:
 * a quiet night does not hide the load of noon, and last week does not hide today's. Pure.
 *
 * There are USAGE_BUCKETS buckets, each 15% wider than the one before: 1 millicore to 1,000 cores,
 * or 1 MiB to 1 TiB. Smaller values are in the first bucket, larger ones in the last. A quantile is
 * interpolated in its bucket, so it is off by less than 15%.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"

enum { USAGE_BUCKETS = 100, USAGE_HALF_LIFE_MS = 86400000 };

/* Zero-initialised: empty. */
struct usage_histogram {
        float weights[USAGE_BUCKETS];
};

/** usage_histogram_bucket() - the bucket of @value: cores if @resource is ESTIMATE_CPU, or bytes */
size_t usage_histogram_bucket(int resource, double value);
/** usage_histogram_scale() - multiply all weights by @factor, such as usage_histogram_fade() */
void usage_histogram_scale(struct usage_histogram *histogram, double factor);
/** usage_histogram_fade() - what is left of a weight after @elapsed_ms */
double usage_histogram_fade(int64_t elapsed_ms);
/** usage_histogram_weight() - the sum of all weights */
double usage_histogram_weight(const struct usage_histogram *histogram);
/** usage_histogram_quantile() - the value that @share of the weight is below; 0: there is none */
double usage_histogram_quantile(const struct usage_histogram *histogram, int resource,
                                double share);
