#include "policy/estimate/pod_load.h"

#include <math.h>

static const double FACTOR_MIN = 0.05, FACTOR_MAX = 20;

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

void pod_load_factor_set(struct load_factor *factor,
                         const double ratios[static ESTIMATE_RESOURCE_COUNT]) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (isfinite(ratios[r]))
                        factor->ratio[r] = fmin(fmax(ratios[r], FACTOR_MIN), FACTOR_MAX);
}
