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
static double unevenness(int replicas, size_t count) {
        return round(replicas * log((double)count + 2) + HOST_MAX_SKEW - 1);
}

uint32_t trial_scheduler_choose(const struct judge *judge, const int *replicas) {
        const struct judge_question *question = &judge->question;
        const struct pod_load request = pod_load_counted(&question->pod->request);
        double most = 0, least = INFINITY, best = -INFINITY;
        uint32_t chosen = UINT32_MAX;
        size_t count = 0;

        for (size_t i = 0; i < question->count; i++)
                count += judge->scored.points[i] > 0;
        for (size_t i = 0; i < question->count; i++) {
                double uneven = unevenness(replicas[question->rows[i]], count);
                if (judge->scored.points[i] == 0)
                        continue;
                most = fmax(most, uneven);
                least = fmin(least, uneven);
        }
        for (size_t i = 0; i < question->count; i++) {
                uint32_t row = question->rows[i];
                double uneven = unevenness(replicas[row], count);
                double score = EXTENDER_WEIGHT * BEST * judge->scored.points[i] / BEST_POINTS +
                               by_requests(&question->nodes->columns.facts[row], &request) +
                               SPREAD_WEIGHT * BEST * (most + least - uneven) / most;
                if (judge->scored.points[i] > 0 && score > best) {
                        best = score;
                        chosen = row;
                }
        }
        return chosen;
}
