#include "policy/estimate/pod_load.h"

#include <math.h>
#include <stdbool.h>

static const double FACTOR_MIN = 0.05, FACTOR_MAX = 20, FACTOR_STEP = 0.03;

struct pod_load pod_load_counted(const struct pod_load *request) {
        static const struct pod_load no_request = {{0.1, 200.0 * 1024 * 1024}};
        struct pod_load load = *request;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (!(load.of[r] > 0))
                        load.of[r] = no_request.of[r];
        return load;
}

void pod_load_factor_init(struct load_factor *factor) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                factor->ratio[r] = 1;
}

/* Return: false: a sum is 0, so there is no factor */
static bool measured_factor(const struct pod_load *used, const struct pod_load *requested, int r,
                            double *ret) {
        double ratio = used->of[r] / requested->of[r];

        *ret = fmin(fmax(ratio, FACTOR_MIN), FACTOR_MAX);
        return requested->of[r] > 0 && isfinite(ratio);
}

void pod_load_factor_set(struct load_factor *factor, const struct pod_load *used,
                         const struct pod_load *requested) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double measured = 1;
                if (measured_factor(used, requested, r, &measured))
                        factor->ratio[r] = measured;
        }
}

void pod_load_factor_move(struct load_factor *factor, const struct pod_load *used,
                          const struct pod_load *requested) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double measured = 1;
                if (measured_factor(used, requested, r, &measured))
                        factor->ratio[r] += FACTOR_STEP * (measured - factor->ratio[r]);
        }
}
