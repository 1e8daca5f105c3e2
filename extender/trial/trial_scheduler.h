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

#include <stdint.h>

#include "policy/judge/judge.h"

/**
 * trial_scheduler_choose() - the row with the highest sum, of those that have points; the first
 * among equals
 * @judge:    has judged the pod
 * @replicas: [row]: pods of the same set there; all 0 if the pod has none
 * Return: UINT32_MAX: no row has points
 */
uint32_t trial_scheduler_choose(const struct judge *judge, const int *replicas);
