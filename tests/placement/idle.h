/*
 * Batch work on CPU that services leave idle: laid over what they were recorded to use, which does
 * not depend on it.
 *
 * Batch pods wait in a queue that is never empty. Each requests 2 cores of what a node offers, uses
 * as many, and is done after half an hour of that. One starts where the offer less what is taken is
 * 2 cores; since there is always one more, nodes do not compete for them. When the offer falls,
 * nothing is evicted. Batch pods request no CPU: where a node is full, each has a weight of 1.
 */
#pragma once

#include "demand.h"
#include "offer.h"

enum { BATCH_MAX_PODS = 64 };

#define BATCH_POD_CORES 2.0
#define BATCH_POD_CORE_S 3600.0

/* The batch pods of a node. All get the same: the first that started ends first. */
struct batch {
        double given_core_s; /* what a pod would have that was there from the beginning */
        double ends_core_s[BATCH_MAX_PODS]; /* when it has come to that; a ring */
        size_t first, count;
};

/** batch_start() - as many pods as the offer has room for */
void batch_start(struct batch *batch, double offered_cores);
/** batch_wanted_cores() - by all of its pods */
double batch_wanted_cores(const struct batch *batch);
/** batch_pass() - a second with @given_cores for all of its pods; those that are done end */
void batch_pass(struct batch *batch, double given_cores);

enum idle_metric {
        IDLE_SERVICES_CORE_S,  /* that services wanted */
        IDLE_THROTTLED_CORE_S, /* of that they did not get */
        IDLE_BATCH_CORE_S,
        IDLE_HOT_NODE_MINUTES, /* above the line, no matter who uses it */
        IDLE_NODE_MINUTES,
        IDLE_MEAN_UTILISATION, /* of the cluster's CPUs */
        IDLE_METRIC_KINDS,
};

struct idle_outcome {
        double of[IDLE_METRIC_KINDS];
};

/** idle_lay() - over what a run of @scenario with @seed recorded; measured when the run is
 * @ret: [offer_count], of each offer */
void idle_lay(const struct demand *demand, const struct scenario *scenario, uint64_t seed,
              struct idle_outcome *ret);
