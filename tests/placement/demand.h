/*
 * What pods use on each node, recorded while a simulation runs: every change of it.
 */
#pragma once

#include "world.h"

/* From a second on, the pod in a slot of its node uses so many of the node's cores. */
struct demand_change {
        int64_t at_s;
        size_t slot;
        double request_cores, cores;
};

struct demand_node {
        double cores;
        struct demand_change *changes; /* in order of time */
        size_t count, cap;
        const struct pod **slots; /* whose they are; NULL: nobody's, to be had again */
        size_t slot_count, slot_cap;
};

struct demand {
        struct demand_node *nodes;
        size_t node_count;
};

/** demand_new() - of the nodes of @scenario's world, of which nothing is recorded yet */
struct demand *demand_new(const struct scenario *scenario);
void demand_free(struct demand *demand);
DEFINE_FREEP(struct demand, demand_free);
/** demand_record() - @pod uses now_cores of its node's from @now_s on; the world is borrowed */
void demand_record(struct demand *demand, const struct pod *pod, int64_t now_s);
