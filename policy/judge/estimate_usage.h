/*
 * The parts of the usage that scoring: estimate ranks a node by. node_columns_estimate() has only
 * their sum; this is for explaining a score.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"
#include "policy/judge/judge_nodes.h"

/* Ratios are of the node's capacity. estimate_terms_headroom() takes their sum times the weight. */
struct estimate_usage {
        double weight;        /* in the maximum over the resources: above 0 to 1 */
        double capacity;      /* CPUs or bytes; 0: not known */
        bool is_read;         /* there is a reading; it may have expired */
        double reading_ratio; /* 0 without one */
        int64_t read_unix_ms; /* its timestamp; 0 without one */
        /* Base and pods (tracked_node.h) less the reading: load that the reading does not show yet,
         * or still shows if this is negative. Without a reading, base and pods. */
        double in_flight_ratio;
        double margin_ratio;   /* how much more than expected the node's pods may use */
        double pod_ratio;      /* of the pod, which counts SCORE_OWN_LOAD_FACTOR times */
        double expected_ratio; /* their sum */
};

/**
 * estimate_usage_get() - the parts for the node of @row with the pod on it, without reservations
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM
 * @pod:      what it is expected to use
 * Return: false if the resource does not count: the policy has priorities, but none with a weight
 * on a mean of this resource
 */
bool estimate_usage_get(const struct judge_nodes *nodes, size_t row, int resource,
                        const struct pod_load *pod, struct estimate_usage *ret);
