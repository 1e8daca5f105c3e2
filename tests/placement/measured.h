/*
 * What the controller measures of pods: the pages that kubelets would answer with, taken in by the
 * controller's own set of pods. Modelled are the kubelets: they sample each pod every 10 to 15 s at
 * a time of its own, some answer nothing, and some lie (scenario.h). Each is read once a minute.
 */
#pragma once

#include "controller/pods/workload_meter.h"
#include "policy/pods/pod_facts.h"
#include "policy/policy.h"
#include "policy/usage/pod_usage_list.h"
#include "world.h"

struct measured;

struct measured *measured_new(const struct world *world, const struct policy *policy);
void measured_free(struct measured *measured);
/** measured_bound() - a pod is bound, or has started
 * @facts: without its names and its node */
void measured_bound(struct measured *measured, const struct pod *pod,
                    const struct pod_facts *facts);
/** measured_ended() - after measured_bound() */
void measured_ended(struct measured *measured, const struct pod *pod);
/** measured_step() - after a second of the world. Return: a minute is over, and workloads are told
 */
bool measured_step(struct measured *measured);

/** measured_workload() - [0, world->workload_count); NULL: no pod of it was ever bound */
const struct metered_workload *measured_workload(const struct measured *measured, size_t workload);
/** measured_list() - the node's annotation; false: it stays as it is */
_must_check_ bool measured_list(const struct measured *measured, size_t node,
                                struct pod_usage_list *ret);
/** measured_uid() - of a pod in that list */
uint32_t measured_uid(const struct pod *pod);
