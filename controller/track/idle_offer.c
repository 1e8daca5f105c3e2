#include "controller/track/idle_offer.h"

#include <math.h>

enum { RISES_TO_ALL = 8, STEPS_TO_ALL = 100, MILLI = 1000, MAX_CORES = 1000000 };

static double services_ratio(const struct policy *policy, const struct plan_values *values) {
        size_t mean = policy_shortest_cpu_mean(policy);
        double peak_ratio = values->ratio[policy->idle_peak];

        return mean < policy->metric_count && plan_has(values, mean) &&
                               !plan_is_provisional(values, mean)
                       ? fmax(peak_ratio, values->ratio[mean])
                       : peak_ratio;
}

struct idle_offer idle_offer_of(const struct policy *policy, const struct plan_values *values,
                                double cpu_cores) {
        if (policy->idle_line_ratio == 0 || !(cpu_cores > 0) ||
            !plan_has(values, policy->idle_peak))
                return (struct idle_offer){.room_milli = IDLE_OFFER_NONE};
        double all_milli = fmin(cpu_cores, MAX_CORES) * MILLI;
        double step_milli = fmax(1, floor(all_milli / STEPS_TO_ALL));
        double room_ratio = fmax(0, policy->idle_line_ratio - services_ratio(policy, values));
        return (struct idle_offer){
                .room_milli = (int64_t)(floor(room_ratio * all_milli / step_milli) * step_milli),
                .rises_milli = (int64_t)(ceil(all_milli / RISES_TO_ALL / step_milli) * step_milli),
        };
}

int64_t idle_offer_next(const struct idle_offer *offer, int64_t now_milli, bool may_rise,
                        int64_t taken_milli) {
        /* Without the resource, nothing is left for new pods. */
        int64_t before_milli = now_milli == IDLE_OFFER_NONE ? taken_milli : now_milli;
        int64_t most_milli = before_milli + (may_rise ? offer->rises_milli : 0);
        int64_t next_milli = offer->room_milli < most_milli ? offer->room_milli : most_milli;

        return next_milli < taken_milli ? IDLE_OFFER_NONE : next_milli;
}
