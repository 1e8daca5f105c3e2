/*
 * A cluster in simulated time, one second at a time: nodes, pods that arrive, start, use CPU and
 * memory, and end.
 */
#pragma once

#include "agenda.h"
#include "arrivals.h"

/* What a pod requests, or all of a node's together, as kube-scheduler counts it. */
struct pod_request {
        int64_t milli_cores, bytes;
};

/** pod_request() - 0 of what it does not request */
struct pod_request pod_request(const struct pod *pod);
/** pod_request_counted() - with what it counts for scores where it requests nothing */
struct pod_request pod_request_counted(const struct pod *pod);

struct node {
        char name[16];
        double cores, bytes, speed, shared_ratio;
        int64_t joins_s, leaves_s; /* leaves_s 0: never */
        int64_t exporter_s;        /* when its exporter begins to answer */
        int64_t busy_until_s;
        double base_ratio, busy_ratio, phase;
        struct pod_request allocatable, requested, counted;
        uint32_t pod_count;
        double demand_cores, mean_cores, used_bytes, mean_bytes;
        double lost_s; /* by how much pods that were there all the time are behind: it throttled
                          them */
        size_t zone;
        bool is_exporter_dead;
};

struct gang {
        struct pod *first;
        size_t missing; /* pods without a node */
};

typedef void world_pod_fn(void *userdata, struct pod *pod);

/* Each may be NULL. */
struct world_listener {
        world_pod_fn *on_bound, *on_started;
        world_pod_fn *on_ended; /* or evicted */
        void *userdata;
};

struct world {
        const struct scenario *scenario;
        uint64_t seed;
        int64_t now_s;
        struct node *nodes;
        size_t node_count;
        struct pod *pods; /* in order of arrival */
        size_t pod_count, arrived;
        /* In place of evicted ones, or by world_add(): they stand behind the pod_count others. */
        size_t renewed;
        size_t evicted; /* by world_evict() */
        size_t workload_count, set_count;
        /* Pods to look at in a second, by their time: an ending or another load. */
        struct agenda agenda;
        struct gang *gangs; /* [pod->gang] */
        struct world_listener listener;
};

struct world *world_new(const struct scenario *scenario, uint64_t seed);
void world_free(struct world *world);
DEFINE_FREEP(struct world, world_free);

/** world_step() - a second passes */
void world_step(struct world *world);
/** world_place() - @pod has its node, and is bound to it at once, or when its whole gang has one */
void world_place(struct world *world, struct pod *pod, size_t node);
/** world_evict() - @pod, which is in no gang, ends, and another of its workload arrives. Return:
 * false: too many were evicted */
bool world_evict(struct world *world, struct pod *pod);
/** world_add() - another pod arrives, of the workload and stream of @like */
void world_add(struct world *world, const struct pod *like);
/** world_remove() - @pod, which is in no gang and may have no node yet, ends */
void world_remove(struct world *world, struct pod *pod);
/** world_scale_load() - @pod, which has started, uses @factor times its own cores from now on */
void world_scale_load(struct world *world, struct pod *pod, double factor);
/** world_is_running() - it is bound and has not ended; it may have yet to start */
bool world_is_running(const struct world *world, const struct pod *pod);
/** world_has_node() - it has joined and not left */
bool world_has_node(const struct world *world, size_t node);
/** world_has_room() - a node that is there, for what a pod requests */
bool world_has_room(const struct world *world, size_t node, const struct pod_request *request);
/** world_has_exporter() - it can be scraped */
bool world_has_exporter(const struct world *world, size_t node);
/** world_base_ratio() - what runs on a node next to the pods, of its CPUs */
double world_base_ratio(const struct world *world, size_t node);
/** world_demand_ratio() - of the CPUs; above 1 pods are throttled */
double world_demand_ratio(const struct world *world, size_t node);
/** world_slowdown() - what pods want for each second of CPU that they use */
double world_slowdown(const struct world *world, size_t node);
/** world_mean_ratio() - what its base and the pods that are bound to it use on average, of the CPUs
 */
double world_mean_ratio(const struct world *world, size_t node);
/** world_usage_ratio() - of the CPUs, at most 1 */
double world_usage_ratio(const struct world *world, size_t node);
/** world_memory_ratio() - in use, at most 1 */
double world_memory_ratio(const struct world *world, size_t node);

/** world_loses_exporter() - a node's exporter dies when measuring begins */
bool world_loses_exporter(const struct world *world, size_t node);
