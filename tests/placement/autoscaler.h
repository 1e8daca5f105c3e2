/*
 * HorizontalPodAutoscalers, one for each workload of a stream of kind `scaled`, and their
 * ReplicaSets.
 *
 * What all replicas of such a workload use together is given; those that run share it. An
 * autoscaler looks at the CPU that they get. On a node that is too hot they get less than they
 * want, so where pods are placed changes how many there will be.
 */
#pragma once

#include "world.h"

struct autoscaler;

/** autoscaler_new() - of all such workloads; @world is borrowed */
struct autoscaler *autoscaler_new(struct world *world);
void autoscaler_free(struct autoscaler *autoscaler);
DEFINE_FREEP(struct autoscaler, autoscaler_free);
/** autoscaler_arrived() - @pod, of whichever stream, waits for a node */
void autoscaler_arrived(struct autoscaler *autoscaler, struct pod *pod);
/** autoscaler_started() - @pod runs, and takes its part of the load */
void autoscaler_started(struct autoscaler *autoscaler, const struct pod *pod);
/** autoscaler_ended() - the others take over its part */
void autoscaler_ended(struct autoscaler *autoscaler, const struct pod *pod);
/** autoscaler_step() - once a second: replicas are added and removed */
void autoscaler_step(struct autoscaler *autoscaler);
