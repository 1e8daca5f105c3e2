/*
 * What the controller measures of pods, by samples that are true, simultaneous and never missing:
 * each pod's mean of the last minutes, and the mean and the spread of each workload's.
 */
#pragma once

#include "policy/estimate/workload.h"
#include "policy/usage/pod_usage_list.h"
#include "world.h"

struct measured;

struct measured_workload {
        const struct pod *example; /* NULL: no pod was ever sampled */
        struct workload_measure measure;
};

struct measured *measured_new(const struct world *world);
void measured_free(struct measured *measured);
/** measured_step() - after a second of the world. Return: everything was measured again */
bool measured_step(struct measured *measured);
/** measured_workload() - [0, world->workload_count) */
struct measured_workload measured_workload(const struct measured *measured, size_t workload);
/** measured_list() - the pods of a node that differ from their workload; borrowed until the next
 * measured_step() */
const struct pod_usage_list *measured_list(const struct measured *measured, size_t node);
/** measured_uid() - of a pod in that list */
uint32_t measured_uid(const struct pod *pod);
