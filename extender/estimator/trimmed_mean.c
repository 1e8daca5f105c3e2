#include "extender/estimator/trimmed_mean.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const double WEIGHT_MAX = 16, TRIM_MIN = 0.02, TRIM_MAX = 0.45;

static int compare_ratios(const void *a, const void *b) {
        const struct trimmed_share *left = a, *right = b;

        return (left->ratio > right->ratio) - (left->ratio < right->ratio);
}

static int compare_weights(const void *a, const void *b) {
        const struct trimmed_share *left = a, *right = b;

        return (left->weight > right->weight) - (left->weight < right->weight);
}

void trimmed_mean_add(struct trimmed_mean *mean, double amount, double of) {
        if (!(of > 0))
                return;
        mem_grow(&mean->shares, mean->count, &mean->cap);
        mean->shares[mean->count++] = (struct trimmed_share){amount / of, of};
}

/* Return: the sum of weights */
static double limit_weights(struct trimmed_mean *mean, double *ret_largest) {
        double sum = 0;

        qsort(mean->shares, mean->count, sizeof(*mean->shares), compare_weights);
        double most = WEIGHT_MAX * mean->shares[mean->count / 2].weight;
        for (size_t i = 0; i < mean->count; i++) {
                mean->shares[i].weight = fmin(mean->shares[i].weight, most);
                sum += mean->shares[i].weight;
        }
        *ret_largest = mean->shares[mean->count - 1].weight;
        return sum;
}

double trimmed_mean_take(struct trimmed_mean *mean) {
        double below = 0, total = 0, largest = 0;

        if (mean->count == 0)
                return NAN;
        double sum = limit_weights(mean, &largest);
        double left_out = fmin(fmax(TRIM_MIN * sum, largest), TRIM_MAX * sum);
        qsort(mean->shares, mean->count, sizeof(*mean->shares), compare_ratios);
        for (size_t i = 0; i < mean->count; i++) {
                double above = below + mean->shares[i].weight;
                double inside = fmin(above, sum - left_out) - fmax(below, left_out);
                total += fmax(0, inside) * mean->shares[i].ratio;
                below = above;
        }
        free(TAKE_PTR(mean->shares));
        return total / (sum - 2 * left_out);
}
