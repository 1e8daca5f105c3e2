/*
 * The score of a candidate by the expected usage of its node with the pod on it:
 *
 *     v = usage + margin + 2 * (what the pod is expected to use) / capacity, of each resource
 *     h = 100 * (1 - the largest weighted v)
 *     points = round(max(0, 10 - (best h - h) / 2))
 *
 * The pod counts twice: readings are minutes old, and a starting pod uses more than its mean. The
 * margin keeps new pods off nodes whose pods are little known. Points are relative to the best
 * candidate, so nodes differ in an idle cluster as much as in a full one. Pure; allocates nothing.
 */
#pragma once

#include "policy/estimate/workload.h"

enum { SCORE_OWN_LOAD_FACTOR = 2, SCORE_POINTS_PER_STEP = 2, SCORE_BEST_POINTS = 10 };

/* A candidate. Each resource is multiplied by its weight in the maximum (0 to 1). */
struct score_node {
        double used[ESTIMATE_RESOURCE_COUNT]; /* the usage of node_estimate.h plus the margin */
        double own[ESTIMATE_RESOURCE_COUNT];  /* score_own() */
        double other;                         /* the largest weighted value of another metric */
};

/** score_own() - the increase of v by one core or byte of the incoming pod
 * @per_capacity: 1 / capacity; 0: unknown */
static inline double score_own(double weight, double per_capacity) {
        return weight * SCORE_OWN_LOAD_FACTOR * per_capacity;
}

/** score_reserved() - the increase of v by one core or byte that is reserved for another pod, which
 * counts once
 * @own: score_own() */
static inline double score_reserved(double own) {
        return own / SCORE_OWN_LOAD_FACTOR;
}

/** score_headroom() - h of the formula above: at most 100, below 0 if the node would be overloaded
 */
static inline double score_headroom(const struct score_node *node, const struct pod_load *pod) {
        double largest = node->other;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double weighted = node->used[r] + node->own[r] * pod->of[r];
                largest = weighted > largest ? weighted : largest;
        }
        return 100 * (1 - largest);
}

/** score_points() - the points of a candidate, 0 to 10; @best is the headroom of the best one */
static inline int score_points(double headroom, double best) {
        double points = SCORE_BEST_POINTS - (best - headroom) / SCORE_POINTS_PER_STEP;

        return points > 0 ? (int)(points + 0.5) : 0;
}
