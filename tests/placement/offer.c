#include "offer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/mem.h"

enum { READINGS_PER_HOUR = 3600 / OFFER_READING_S };

static const double QUANTILE = 0.99, SIGMAS = 2;

const struct offer offers[] = {
        {"none", OFFER_NOTHING, 0},
        {"now", OFFER_MAXIMUM, 1},
        {"max-1h", OFFER_MAXIMUM, READINGS_PER_HOUR},
        {"max-6h", OFFER_MAXIMUM, 6 * READINGS_PER_HOUR},
        {"max-24h", OFFER_MAXIMUM, 24 * READINGS_PER_HOUR},
        {"2-sigma-1h", OFFER_SIGMAS, READINGS_PER_HOUR},
        {"p99-24h", OFFER_QUANTILE, 24 * READINGS_PER_HOUR},
        {"oracle", OFFER_FORESEEN, 0},
};
const size_t offer_count = ARRAY_LEN(offers);

static double largest(const double *values, size_t count) {
        double most = values[0];

        for (size_t i = 1; i < count; i++)
                most = fmax(most, values[i]);
        return most;
}

static double mean_and_sigmas(const double *values, size_t count) {
        double mean = 0, squares = 0;

        for (size_t i = 0; i < count; i++)
                mean += values[i] / (double)count;
        for (size_t i = 0; i < count; i++)
                squares += pow(values[i] - mean, 2);
        return mean + SIGMAS * sqrt(squares / (double)count);
}

static int compare_readings(const void *a, const void *b) {
        const double *left = a, *right = b;

        return (*left > *right) - (*left < *right);
}

static double quantile(const double *values, size_t count) {
        _cleanup_(freep) double *sorted = xcalloc(count, sizeof(*sorted));

        memcpy(sorted, values, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), compare_readings);
        return sorted[(size_t)ceil(QUANTILE * (double)count) - 1];
}

double offer_peak(const struct offer *offer, const double *readings, size_t count) {
        size_t used = count < offer->readings ? count : offer->readings;
        const double *values = readings + count - used;

        if (offer->peak == OFFER_SIGMAS)
                return mean_and_sigmas(values, used);
        return offer->peak == OFFER_QUANTILE ? quantile(values, used) : largest(values, used);
}

double offer_next(double offered_cores, double room_cores) {
        return fmax(0, fmin(room_cores, offered_cores + OFFER_STEP_CORES));
}

/*
 * In blocks of OFFER_FORESEEN_S seconds: what a second foresees is the largest from it to the end
 * of its block, or from the beginning of the next block.
 */
void offer_foresee(const double *used_cores, size_t count, double *ret_cores) {
        for (size_t i = count; i-- > 0;) {
                bool is_last = i + 1 == count || (i + 1) % OFFER_FORESEEN_S == 0;
                ret_cores[i] = is_last ? used_cores[i] : fmax(used_cores[i], ret_cores[i + 1]);
        }
        for (size_t block = OFFER_FORESEEN_S; block < count; block += OFFER_FORESEEN_S) {
                double most = 0;
                for (size_t i = block; i + 1 < block + OFFER_FORESEEN_S; i++) {
                        most = fmax(most, i < count ? used_cores[i] : 0);
                        size_t sees = i + 1 - OFFER_FORESEEN_S;
                        ret_cores[sees] = fmax(ret_cores[sees], most);
                }
        }
}
