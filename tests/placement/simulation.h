/*
 * One run: a world, the controller's annotations, kube-scheduler with one algorithm next to it.
 *
 * Pods are scheduled in the order of their arrival. A pod for which there is no node is tried again
 * every 30 s.
 */
#pragma once

#include "algorithm.h"

enum metric {
        HOT_NODE_MINUTES,      /* above 65% of CPU */
        HOT_CORE_MINUTES,      /* each hot node counted by its cores */
        VERY_HOT_NODE_MINUTES, /* above 80% */
        THROTTLED_CORE_S,
        FULL_NODE_MINUTES, /* above 90% of memory */
        USAGE_STDDEV,      /* of the nodes, mean over time */
        BUSIEST_P99,       /* 99th percentile over time of the busiest node's usage */
        MEAN_UTILISATION,  /* of the cluster's CPUs */
        PENDING_PODS,      /* at the end */
        MEAN_PODS,         /* that have a node, mean over time */
        PATCHES_PER_NODE_MINUTE,
        /* Standard deviation over the candidates of (what the algorithm takes their usage for -
         * what is in use on average), mean over decisions: what is wrong by the same everywhere
         * misleads nobody. Far less noisy than hot minutes. */
        ESTIMATE_ERROR_PERCENT,
        EVICTIONS_PER_1000_POD_HOURS, /* where the algorithm evicts */
        REPEATED_EVICTIONS_RATIO, /* of them: of pods that replaced one evicted in the last 2 h */
        /* What the product's trial says (algorithm_trial.c): the share of hot time that the
         * estimate would leave, and its interval. */
        TRIAL_RATIO,
        TRIAL_LOW,
        TRIAL_HIGH,
        METRIC_KINDS,
        METRICS_IN_TABLE = TRIAL_RATIO, /* the others are in JSON alone */
};

struct outcome {
        double of[METRIC_KINDS]; /* NAN: the algorithm has none */
};

/** simulate() - @policy may be NULL where the algorithm needs none */
struct outcome simulate(const struct scenario *scenario, const struct algorithm *algorithm,
                        const struct policy *policy, uint64_t seed);
