#include "extender/trial/trial_scheduler.h"

#include <math.h>

static const double EXTENDER_WEIGHT = 3, SPREAD_WEIGHT = 2, BEST = 100, BEST_POINTS = 10;
static const double HOST_MAX_SKEW = 3;

static double requested_ratio(const struct node_facts *facts, int r, double more) {
        double all = node_facts_allocatable(facts, r);

        return all > 0 ? fmin(1, (facts->requested.of[r] + more) / all) : 0;
}

static double balance(const struct node_facts *facts, const struct pod_load *request) {
        double cpu = requested_ratio(facts, ESTIMATE_CPU, request->of[ESTIMATE_CPU]);
        double mem = requested_ratio(facts, ESTIMATE_MEM, request->of[ESTIMATE_MEM]);

        return 1 - fabs(cpu - mem) / 2; /* the standard deviation of two is half of what they differ
                                           by */
}

static double by_requests(const struct node_facts *facts, const struct pod_load *request) {
        static const struct pod_load none;
        double better = balance(facts, request) - balance(facts, &none), free = 0;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                free += (1 - requested_ratio(facts, r, request->of[r])) / ESTIMATE_RESOURCE_COUNT;
        return BEST * (free + 0.5 + (0.5 + better) / 2);
}

/* The more replicas are there, the worse. */
static double unevenness(const struct trial_candidate *candidate, size_t count) {
        return round((double)candidate->replicas * log((double)count + 2) + HOST_MAX_SKEW - 1);
}

size_t trial_scheduler_choose(const struct node_facts *facts,
                              const struct trial_candidate *candidates, size_t count,
                              const struct pod_load *request, bool is_spread) {
        double most = 0, least = INFINITY, best = -INFINITY;
        size_t chosen = 0;

        for (size_t i = 0; i < count; i++) {
                most = fmax(most, unevenness(&candidates[i], count));
                least = fmin(least, unevenness(&candidates[i], count));
        }
        for (size_t i = 0; i < count; i++) {
                double uneven = unevenness(&candidates[i], count);
                double score = EXTENDER_WEIGHT * BEST * candidates[i].points / BEST_POINTS +
                               by_requests(&facts[candidates[i].row], request);
                if (is_spread)
                        score += SPREAD_WEIGHT * BEST * (most + least - uneven) / most;
                if (score > best) {
                        best = score;
                        chosen = i;
                }
        }
        return chosen;
}
