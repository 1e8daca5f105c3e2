/*
 * Trimaran's TargetLoadPacking of kubernetes-sigs/scheduler-plugins, by its documentation:
 * https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/trimaran/targetloadpacking
 * and KEP 61 next to it. A node's predicted CPU usage is what was measured, what the pod is assumed
 * to use (its limit, or 1.5 times its request, or 1 core), and what pods bound since the
 * measurement or less than 60 s before it are assumed to use. The score rises up to a target of 40%
 * and falls beyond it: pods are packed onto nodes below the target. LeastAllocated and
 * BalancedAllocation are switched off, as documented.
 *
 * What commit 903da7df with load-watcher v0.2.4 did in a cluster, where the documentation says
 * less: it always asks for the window of 15 minutes, which is Prometheus' mean of 15 minutes or
 * metrics-server's latest value; a node without metrics scores 0; a pod that ended is no longer
 * counted.
 */
#include "algorithm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "meters.h"
#include "simulation.h"

enum { RECENT_S = 60 }; /* bound so long before the measurement a pod is not yet in it */

static const double REQUEST_MULTIPLIER = 1.5, CORES_WITHOUT_REQUEST = 1;

struct tlp_options {
        enum meters_kind meters;
        double target_percent; /* 0: the cluster's mean and MARGIN_PERCENT, by who has seen it */
};

static const double MARGIN_PERCENT = 10, TARGET_MAX_PERCENT = 95;

struct tlp_recent {
        const struct pod *pod;
        int64_t seen_s;
};

struct tlp {
        struct situation situation;
        double target_percent;
        struct meters *meters;
        struct tlp_recent *recent;
        size_t count, cap;
        double *missing_cores; /* [node] */
};

/* The mean usage is that of the default scheduler, on the same arrivals. */
static double tuned_target(const struct world *world) {
        const struct outcome seen = simulate(world->scenario, &algorithm_default, NULL,
                                             world->seed);

        return fmin(round(100 * seen.of[MEAN_UTILISATION]) + MARGIN_PERCENT, TARGET_MAX_PERCENT);
}

static void *new (const struct situation *situation) {
        const struct tlp_options *options = situation->algorithm->options;
        struct tlp *tlp = xcalloc(1, sizeof(*tlp));

        tlp->situation = *situation;
        tlp->target_percent = options->target_percent > 0 ? options->target_percent
                                                          : tuned_target(situation->world);
        tlp->meters = meters_new(situation->world, options->meters);
        tlp->missing_cores = xcalloc(situation->world->node_count, sizeof(*tlp->missing_cores));
        return tlp;
}

static void free_tlp(void *self) {
        struct tlp *tlp = self;

        meters_free(tlp->meters);
        free(tlp->recent);
        free(tlp->missing_cores);
        free(tlp);
}

static double assumed_cores(const struct pod *pod) {
        return pod->request_cores > 0 ? REQUEST_MULTIPLIER * pod->request_cores
                                      : CORES_WITHOUT_REQUEST;
}

static void on_bound(void *self, const struct pod *pod) {
        struct tlp *tlp = self;

        mem_grow(&tlp->recent, tlp->count, &tlp->cap);
        tlp->recent[tlp->count++] = (struct tlp_recent){pod, tlp->situation.world->now_s};
        tlp->missing_cores[pod->node] += assumed_cores(pod);
}

static void on_ended(void *self, const struct pod *pod) {
        struct tlp *tlp = self;

        for (size_t i = 0; i < tlp->count; i++) {
                if (tlp->recent[i].pod != pod)
                        continue;
                tlp->missing_cores[pod->node] -= assumed_cores(pod);
                tlp->recent[i] = tlp->recent[--tlp->count];
                return;
        }
}

/* Those that the latest measurement has are counted no longer. */
static void on_second(void *self) {
        struct tlp *tlp = self;
        size_t kept = 0;

        meters_step(tlp->meters);
        memset(tlp->missing_cores, 0,
               tlp->situation.world->node_count * sizeof(*tlp->missing_cores));
        for (size_t i = 0; i < tlp->count; i++) {
                const struct tlp_recent *recent = &tlp->recent[i];
                size_t node = (size_t)recent->pod->node;
                if (recent->seen_s + RECENT_S <= meters_get(tlp->meters, node).at_s)
                        continue;
                tlp->missing_cores[node] += assumed_cores(recent->pod);
                tlp->recent[kept++] = *recent;
        }
        tlp->count = kept;
}

static int score_of(const struct tlp *tlp, const struct pod *pod, size_t n) {
        const struct meter meter = meters_get(tlp->meters, n);
        double target = tlp->target_percent;

        if (!meter.is_known)
                return 0;
        double cores = tlp->missing_cores[n] + assumed_cores(pod);
        double percent = 100 *
                         (meter.ratio[METER_CPU] + cores / tlp->situation.world->nodes[n].cores);
        if (percent > 100)
                return 0;
        double score = percent > target ? target * (100 - percent) / (100 - target)
                                        : (100 - target) * percent / target + target;
        return (int)round(score);
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = score_of(self, pod, candidates[i]);
}

#define TLP(name_, about_, ...)                                                                    \
        {                                                                                          \
                .name = (name_), .about = (about_), .weight = 1, .is_instead_of_fit = true,        \
                .options = &(const struct tlp_options){__VA_ARGS__}, .new = new, .free = free_tlp, \
                .on_bound = on_bound, .on_ended = on_ended, .on_second = on_second,                \
                .decide = decide,                                                                  \
        }

const struct algorithm algorithm_tlp = TLP(
        "tlp-ms", "Trimaran's TargetLoadPacking with metrics-server: packs up to 40% of CPU",
        METERS_METRICS_SERVER, 40);
const struct algorithm algorithm_tlp_tuned = TLP(
        "tlp-ms-tuned", "the same, up to 10 points above the cluster's mean", METERS_METRICS_SERVER,
        0);
const struct algorithm algorithm_tlp_prometheus = TLP(
        "tlp-prom", "TargetLoadPacking up to 40%, with Prometheus' mean of 15 minutes",
        METERS_PROMETHEUS, 40);
