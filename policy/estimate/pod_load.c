#include "policy/estimate/pod_load.h"

#include <math.h>

static const double FACTOR_MIN = 0.05, FACTOR_MAX = 20, FACTOR_STEP = 0.03;
static const double SAMPLE_KEPT = 0.98, SAMPLE_PRIOR = 0.2;

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

void pod_load_factor_move(struct load_factor *factor, const struct pod_load *measured,
                          const struct pod_load *requested) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double ratio = measured->of[r] / requested->of[r];
                if (requested->of[r] > 0 && isfinite(ratio))
                        factor->ratio[r] += FACTOR_STEP *
                                            (fmin(fmax(ratio, FACTOR_MIN), FACTOR_MAX) -
                                             factor->ratio[r]);
        }
}

void pod_load_factor_sample(struct load_factor *factor, struct load_sample *sample, int resource,
                            double measured_ratio, double requested_ratio) {
        double *measured = &sample->measured[resource], *requested = &sample->requested[resource];

        if (isnan(measured_ratio) || isnan(requested_ratio))
                return;
        *measured = SAMPLE_KEPT * *measured + fmin(fmax(measured_ratio, 0), 1);
        *requested = SAMPLE_KEPT * *requested + fmin(fmax(requested_ratio, 0), 1);
        double ratio = (SAMPLE_PRIOR + *measured) / (SAMPLE_PRIOR + *requested);
        factor->ratio[resource] = fmin(fmax(ratio, FACTOR_MIN), FACTOR_MAX);
}
