#include "policy/usage/usage_histogram.h"

#include <math.h>

static const double GROWTH = 1.15;
/* The upper end of the first bucket. */
static const double FIRST[ESTIMATE_RESOURCE_COUNT] = {0.001, 1024 * 1024};

size_t usage_histogram_bucket(int resource, double value) {
        double at = value > FIRST[resource] ? ceil(log(value / FIRST[resource]) / log(GROWTH)) : 0;

        return at < USAGE_BUCKETS - 1 ? (size_t)at : USAGE_BUCKETS - 1;
}

void usage_histogram_scale(struct usage_histogram *histogram, double factor) {
        for (size_t i = 0; i < USAGE_BUCKETS; i++)
                histogram->weights[i] *= (float)factor;
}

double usage_histogram_fade(int64_t elapsed_ms) {
        return elapsed_ms > 0 ? exp2(-(double)elapsed_ms / USAGE_HALF_LIFE_MS) : 1;
}

double usage_histogram_weight(const struct usage_histogram *histogram) {
        double weight = 0;

        for (size_t i = 0; i < USAGE_BUCKETS; i++)
                weight += (double)histogram->weights[i];
        return weight;
}

double usage_histogram_quantile(const struct usage_histogram *histogram, int resource,
                                double share) {
        double rest = share * usage_histogram_weight(histogram), upper = FIRST[resource], lower = 0;

        if (!(rest > 0))
                return 0;
        for (size_t i = 0; i < USAGE_BUCKETS; i++) {
                double weight = (double)histogram->weights[i];
                if (rest <= weight)
                        return lower + (upper - lower) * rest / weight;
                rest -= weight;
                lower = upper;
                upper *= GROWTH;
        }
        return lower;
}
