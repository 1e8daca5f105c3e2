/* kube-scheduler alone, with its default strategy for NodeResourcesFit and with the one that packs.
 */
#include "algorithm.h"

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        (void)self, (void)pod, (void)candidates;
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = 0;
}

const struct algorithm algorithm_default = {
        .name = "default",
        .about = "kube-scheduler alone",
        .decide = decide,
};

const struct algorithm algorithm_most_allocated = {
        .name = "most-allocated",
        .about = "kube-scheduler alone, packing nodes by requests (scoringStrategy: MostAllocated)",
        .is_packing = true,
        .decide = decide,
};
