#include "policy/estimate/pod_load.h"

#include <math.h>

static const double FACTOR_MIN = 0.05, FACTOR_MAX = 20, FACTOR_STEP = 0.03;

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
