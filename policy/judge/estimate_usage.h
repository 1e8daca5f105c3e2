/*
 * How the usage is made up by which scoring: estimate ranks a node: the parts that
 * node_columns_estimate() holds as one sum, for those who explain a score.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"
#include "policy/judge/judge_nodes.h"

/* Ratios are of the node's capacity. Their sum times the weight is what estimate_terms_headroom()
 * takes. */
struct estimate_usage {
        double weight;          /* in the maximum over the resources: above 0 to 1 */
        double capacity;        /* CPUs or bytes; 0: not known */
        bool is_read;           /* there is a reading; it may have expired */
        double reading_ratio;   /* 0 without one */
        int64_t read_unix_ms;   /* its timestamp; 0 without one */
        double in_flight_ratio; /* base and pods (tracked_node.h) less the reading: what it does not
                                 * show yet, or still shows; all of them without a reading */
        double margin_ratio;    /* by how much the pods there may use more than expected */
        double pod_ratio;       /* of the pod, which counts SCORE_OWN_LOAD_FACTOR times */
        double expected_ratio;  /* their sum */
};

/**
 * estimate_usage_get() - of the node of @row with the pod on it, without reservations
 * @resource: ESTIMATE_CPU or ESTIMATE_MEM
 * @pod:      what it is expected to use
 * Return: false when the resource does not count: the policy has priorities, and no mean of it with
 * a weight
 */
bool estimate_usage_get(const struct judge_nodes *nodes, size_t row, int resource,
                        const struct pod_load *pod, struct estimate_usage *ret);
