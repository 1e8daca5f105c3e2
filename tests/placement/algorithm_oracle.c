/*
 * Knows what every pod that runs or starts will use on average, and what this one will: what could
 * be gained by placing each pod well, without foresight of those that follow.
 */
#include "algorithm.h"

static const double AS_GOOD_RATIO = 0.002;

static double ratio_with(const struct world *world, uint32_t at, const struct pod *pod) {
        const struct node *node = &world->nodes[at];
        double cpu = world_mean_ratio(world, at) + pod->cores / node->speed / node->cores;
        double memory = (node->mean_bytes + pod->bytes) / node->bytes;

        return cpu > memory ? cpu : memory;
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        const struct situation *situation = self;
        double best = 1e9;

        for (size_t i = 0; i < count; i++) {
                double ratio = ratio_with(situation->world, candidates[i], pod);
                best = ratio < best ? ratio : best;
        }
        for (size_t i = 0; i < count; i++) {
                double ratio = ratio_with(situation->world, candidates[i], pod);
                ret_scores[i] = ratio - best < AS_GOOD_RATIO ? SCORE_BEST : 0;
        }
}

const struct algorithm algorithm_oracle = {
        .name = "oracle",
        .about = "knows every pod's mean load and chooses the node that is left with most room",
        .weight = 100,
        .decide = decide,
};
