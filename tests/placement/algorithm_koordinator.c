/*
 * Koordinator's LoadAwareScheduling, by its documentation:
 * https://koordinator.sh/docs/designs/load-aware-scheduling
 * A node is scored by what was measured, plus an estimate (85 % of the CPU and 70 % of the memory
 * that is requested; 250m and 200 MB without a request) of the pod and of each pod that was bound
 * since the measurement or less than a reporting interval before it. The score is the mean of what
 * that leaves of CPU and memory. The thresholds of its filter are off, as they are by default.
 *
 * NodeMetric, reported every minute with means of 5 minutes, is modelled by annotations.
 */
#include "algorithm.h"

#include <stdlib.h>

#include "base/mem.h"

enum { REPORT_S = 60, EXPIRATION_S = 180 };

static const double CPU_FACTOR = 0.85, MEM_FACTOR = 0.7;

struct recent {
        size_t node;
        int64_t bound_s;
        double cores, bytes;
};

struct missing {
        double cores, bytes;
};

struct koordinator {
        struct situation situation;
        struct recent *recent;
        size_t count, cap;
        struct missing *missing;
};

static void *new (const struct situation *situation) {
        struct koordinator *koordinator = xcalloc(1, sizeof(*koordinator));

        koordinator->situation = *situation;
        koordinator->missing = xcalloc(situation->world->node_count, sizeof(struct missing));
        return koordinator;
}

static void free_koordinator(void *self) {
        struct koordinator *koordinator = self;

        free(koordinator->recent);
        free(koordinator->missing);
        free(koordinator);
}

static void on_bound(void *self, const struct pod *pod) {
        struct koordinator *koordinator = self;
        const struct recent recent = {(size_t)pod->node, pod->bound_s,
                                      CPU_FACTOR * pod->request_cores,
                                      MEM_FACTOR * pod->request_bytes};

        mem_grow(&koordinator->recent, koordinator->count, &koordinator->cap);
        koordinator->recent[koordinator->count++] = recent;
        koordinator->missing[pod->node].cores += recent.cores;
        koordinator->missing[pod->node].bytes += recent.bytes;
}

static void on_written(void *self, size_t node) {
        struct koordinator *koordinator = self;
        int64_t measured_s = published_get(koordinator->situation.published, node, 0).at_s;
        size_t kept = 0;

        for (size_t i = 0; i < koordinator->count; i++) {
                const struct recent *recent = &koordinator->recent[i];
                if (recent->node == node && recent->bound_s + REPORT_S <= measured_s) {
                        koordinator->missing[node].cores -= recent->cores;
                        koordinator->missing[node].bytes -= recent->bytes;
                } else {
                        koordinator->recent[kept++] = *recent;
                }
        }
        koordinator->count = kept;
}

static double left_percent(double ratio) {
        return ratio < 1 ? 100 * (1 - ratio) : 0;
}

static int score_of(const struct koordinator *koordinator, const struct pod *pod, size_t n) {
        const struct world *world = koordinator->situation.world;
        const struct node *node = &world->nodes[n];
        struct published_value cpu = published_get(koordinator->situation.published, n, 0);
        struct published_value mem = published_get(koordinator->situation.published, n, 1);
        const struct missing *missing = &koordinator->missing[n];

        if (cpu.at_s < 0 || world->now_s - cpu.at_s > EXPIRATION_S)
                return 0;
        cpu.ratio += (missing->cores + CPU_FACTOR * pod->request_cores) / node->cores;
        mem.ratio += (missing->bytes + MEM_FACTOR * pod->request_bytes) / node->bytes;
        return (int)((left_percent(cpu.ratio) + left_percent(mem.ratio)) / 2);
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = score_of(self, pod, candidates[i]);
}

const struct algorithm algorithm_koordinator = {
        .name = "koordinator",
        .about = "Koordinator's LoadAwareScheduling: measured usage and estimates of recent pods",
        .needs = ALGORITHM_NEEDS_MINUTELY_MEANS,
        .weight = 1,
        .new = new,
        .free = free_koordinator,
        .on_written = on_written,
        .on_bound = on_bound,
        .decide = decide,
};
