/*
 * What kube-scheduler makes of the extender's points, by its default plugins and their weights
 * (kube-scheduler 1.37, pkg/scheduler/framework/plugins):
 *
 *     3 x points of the extender             as in deploy/scheduler
 *     1 x NodeResourcesFit                   LeastAllocated
 *     1 x NodeResourcesBalancedAllocation
 *     2 x PodTopologySpread                  default constraints, here on host names alone
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/judge/node_columns.h"

/* A node that has points. */
struct trial_candidate {
        uint32_t row;
        int points;      /* 1 to 10 */
        size_t replicas; /* pods of the same set there */
};

/**
 * trial_scheduler_choose() - the node with the highest sum; the first among equals
 * @facts:     [row]
 * @request:   as pod_load_counted()
 * @is_spread: replicas count
 * Return: index into @candidates, of which there is at least one
 */
size_t trial_scheduler_choose(const struct node_facts *facts,
                              const struct trial_candidate *candidates, size_t count,
                              const struct pod_load *request, bool is_spread);
