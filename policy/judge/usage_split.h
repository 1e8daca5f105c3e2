/*
 * Splits the usage by which scoring: estimate ranks a node, to explain a score.
 * node_columns_estimate() has only the sum.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"
#include "policy/judge/judge_nodes.h"

/* Ratios of the node's capacity. score_weights_headroom() uses their sum, times the weight. */
struct usage_split {
        double weight;        /* in the maximum over the resources: above 0 to 1 */
        double capacity;      /* CPUs or bytes; 0: unknown */
        bool is_read;         /* there is a reading; it may have expired */
        double reading_ratio; /* 0 without one */
        int64_t read_unix_ms; /* its timestamp; 0 without one */
        /* The estimate (node_estimate.h) minus the reading: load that the reading does not show
         * yet, or if negative, still shows. Without a reading, all of it. */
        double in_flight_ratio;
        double margin_ratio;   /* for pods that use more than expected */
        double pod_ratio;      /* the pod, which counts SCORE_OWN_LOAD_FACTOR times */
        double reserved_ratio; /* for other pods */
        double expected_ratio; /* the sum of the above */
};

/**
 * usage_split_get() - split the usage of the node in @row with the pod on it
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM
 * @pod:      its expected load
 * @reserved: as judge_reserved()
 * Return: false if the resource does not count: the policy has priorities, but none with a weight
 * on a mean of this resource
 */
bool usage_split_get(const struct judge_nodes *nodes, size_t row, int resource,
                     const struct pod_load *pod, const struct pod_load *reserved,
                     struct usage_split *ret);
