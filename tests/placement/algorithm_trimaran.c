/*
 * Trimaran's TargetLoadPacking of kubernetes-sigs/scheduler-plugins, by its documentation:
 * https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/trimaran/targetloadpacking
 * and KEP 61 beside it. A node's predicted CPU usage is what was measured, what the pod is assumed
 * to use (its limit, or 1.5 times its request), and what pods bound since the measurement are
 * assumed to use. The score rises up to a target of 40 % and falls beyond it: pods are packed onto
 * nodes below the target. LeastAllocated and BalancedAllocation are switched off, as documented.
 *
 * Its load watcher is modelled by annotations that are written every minute.
 */
#include "algorithm.h"

#include <stdlib.h>

#include "base/mem.h"

enum { RECENT_S = 60 }; /* bound so long before the measurement a pod is not yet in it */

static const double TARGET = 40, REQUEST_MULTIPLIER = 1.5;

struct recent {
        size_t node;
        int64_t bound_s;
        double cores;
};

struct trimaran {
        struct situation situation;
        struct recent *recent;
        size_t count, cap;
        double *missing_cores;
};

static void *new (const struct situation *situation) {
        struct trimaran *trimaran = xcalloc(1, sizeof(*trimaran));

        trimaran->situation = *situation;
        trimaran->missing_cores = xcalloc(situation->world->node_count, sizeof(double));
        return trimaran;
}

static void free_trimaran(void *self) {
        struct trimaran *trimaran = self;

        free(trimaran->recent);
        free(trimaran->missing_cores);
        free(trimaran);
}

static void on_bound(void *self, const struct pod *pod) {
        struct trimaran *trimaran = self;

        mem_grow(&trimaran->recent, trimaran->count, &trimaran->cap);
        trimaran->recent[trimaran->count++] = (struct recent){
                (size_t)pod->node, pod->bound_s, REQUEST_MULTIPLIER * pod->request_cores};
        trimaran->missing_cores[pod->node] += REQUEST_MULTIPLIER * pod->request_cores;
}

static void on_written(void *self, size_t node) {
        struct trimaran *trimaran = self;
        int64_t measured_s = published_get(trimaran->situation.published, node, 0).at_s;
        size_t kept = 0;

        for (size_t i = 0; i < trimaran->count; i++) {
                const struct recent *recent = &trimaran->recent[i];
                if (recent->node == node && recent->bound_s + RECENT_S <= measured_s)
                        trimaran->missing_cores[node] -= recent->cores;
                else
                        trimaran->recent[kept++] = *recent;
        }
        trimaran->count = kept;
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        const struct trimaran *trimaran = self;

        for (size_t i = 0; i < count; i++) {
                size_t n = candidates[i];
                double cores = trimaran->situation.world->nodes[n].cores;
                double missing = trimaran->missing_cores[n] +
                                 REQUEST_MULTIPLIER * pod->request_cores;
                double percent = 100 * (published_get(trimaran->situation.published, n, 0).ratio +
                                        missing / cores);
                double score = (100 - TARGET) * percent / TARGET + TARGET;
                if (percent > TARGET)
                        score = TARGET * (100 - percent) / (100 - TARGET);
                ret_scores[i] = percent > 100 ? 0 : (int)(score + 0.5);
        }
}

const struct algorithm algorithm_trimaran = {
        .name = "trimaran",
        .about = "Trimaran's TargetLoadPacking: packs up to 40 % of CPU",
        .needs = ALGORITHM_NEEDS_MINUTELY_MEANS,
        .weight = 1,
        .is_instead_of_fit = true,
        .new = new,
        .free = free_trimaran,
        .on_written = on_written,
        .on_bound = on_bound,
        .decide = decide,
};
