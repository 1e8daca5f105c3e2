/*
 * Trimaran's LoadVariationRiskBalancing of kubernetes-sigs/scheduler-plugins, by its documentation:
 * https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/trimaran/loadvariationriskbalancing
 * and KEP 61 next to it. A node's risk is (mean + margin * deviation^(1/sensitivity)) / 2 of a
 * resource, where the mean has the pod's request added to it; the worse of CPU and memory decides:
 * score = 100 * (1 - risk). Margin and sensitivity are 1. It is one more score next to
 * kube-scheduler's own, as in the documented configuration. At commit 903da7df with load-watcher
 * v0.2.4 mean and deviation are those of Prometheus' 15 minutes, a node without metrics scores 0,
 * and nothing is added for pods that the mean does not show yet.
 */
#include "algorithm.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "meters.h"

static const double MARGIN = 1, SENSITIVITY = 1;

struct lvrb {
        struct situation situation;
        struct meters *meters;
};

static void *new (const struct situation *situation) {
        struct lvrb *lvrb = xcalloc(1, sizeof(*lvrb));

        lvrb->situation = *situation;
        lvrb->meters = meters_new(situation->world, METERS_PROMETHEUS);
        return lvrb;
}

static void free_lvrb(void *self) {
        struct lvrb *lvrb = self;

        meters_free(lvrb->meters);
        free(lvrb);
}

static void on_second(void *self) {
        struct lvrb *lvrb = self;

        meters_step(lvrb->meters);
}

static double risk_of(const struct meter *meter, int resource, double request_ratio) {
        double mean = fmin(meter->ratio[resource] + request_ratio, 1);
        double deviation = MARGIN * pow(meter->stddev[resource], 1 / SENSITIVITY);

        return (mean + fmin(deviation, 1)) / 2;
}

static int score_of(const struct lvrb *lvrb, const struct pod *pod, size_t n) {
        const struct meter meter = meters_get(lvrb->meters, n);
        const struct node *node = &lvrb->situation.world->nodes[n];

        if (!meter.is_known)
                return 0;
        double cpu = risk_of(&meter, METER_CPU, pod->request_cores / node->cores);
        double mem = risk_of(&meter, METER_MEM, pod->request_bytes / node->bytes);
        return (int)round(100 * (1 - fmax(cpu, mem)));
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = score_of(self, pod, candidates[i]);
}

const struct algorithm algorithm_lvrb = {
        .name = "lvrb",
        .about = "Trimaran's LoadVariationRiskBalancing with Prometheus: mean and deviation",
        .weight = 1,
        .new = new,
        .free = free_lvrb,
        .on_second = on_second,
        .decide = decide,
};
