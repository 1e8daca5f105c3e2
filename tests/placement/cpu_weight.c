#include "cpu_weight.h"

#include <math.h>
#include <stdbool.h>

static const double SHARES_PER_CORE = 1024, MIN_SHARES = 2, MAX_SHARES = 262144, MAX_WEIGHT = 10000;

double cpu_weight(double request_cores) {
        double shares = fmin(fmax(SHARES_PER_CORE * request_cores, MIN_SHARES), MAX_SHARES);

        return 1 + (shares - MIN_SHARES) * (MAX_WEIGHT - 1) / (MAX_SHARES - MIN_SHARES);
}

void cpu_weight_share(const struct cpu_consumer *consumers, size_t count, double cores,
                      double *ret_given_cores) {
        double left_cores = cores, weights = 0;
        bool is_level = false;

        for (size_t i = 0; i < count; i++) {
                ret_given_cores[i] = NAN; /* not yet satisfied */
                weights += consumers[i].weight;
        }
        while (!is_level) {
                double per_weight = left_cores / weights;
                is_level = true;
                for (size_t i = 0; i < count; i++) {
                        if (!isnan(ret_given_cores[i]) ||
                            consumers[i].wanted_cores > per_weight * consumers[i].weight)
                                continue;
                        ret_given_cores[i] = consumers[i].wanted_cores;
                        left_cores -= consumers[i].wanted_cores;
                        weights -= consumers[i].weight;
                        is_level = false;
                }
        }
        for (size_t i = 0; i < count; i++)
                if (isnan(ret_given_cores[i]))
                        ret_given_cores[i] = left_cores / weights * consumers[i].weight;
}
