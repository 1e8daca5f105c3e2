/*
 * A cluster in simulated time, one second at a time: nodes, pods that arrive, start, use CPU and
 * memory, and end. What arrives when, and what it uses, is drawn from the seed alone, so that every
 * algorithm meets the same pods.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/workload.h"

enum { WORLD_MAX_REQUESTS = 8 };

/* How pods of one kind come. */
struct stream {
        enum { STREAM_STEADY, STREAM_BURST, STREAM_JOBS, STREAM_ROLLOUT } kind;
        size_t workloads;
        size_t request_count;
        double requests_cores[WORLD_MAX_REQUESTS];
        /* What a pod uses as a share of its request: every `hot_every`th workload `hot_ratio`, the
         * others `ratio`; 0: none is hot. With is_per_pod it is drawn for every pod. */
        double ratio, hot_ratio;
        unsigned hot_every;
        bool is_per_pod;
        double uses_from_cores, uses_to_cores; /* log-uniform, in place of a share; 0: not used */
        double uses_mean_ratio;                /* of the cluster: scales those; 0: as they are */
        double wave;        /* amplitude of a day's wave, each workload at another hour; 0: none */
        double life_mean_s; /* exponential */
        double life_from_s, life_to_s; /* uniform, in place of a mean; 0: not used */
        double spike_factor, spike_s;  /* while it starts; 1: none */
        /* Memory as a share of the request; of every `grown_every`th workload it grows within
         * `grows_s` to `grown_ratio`. */
        double memory_ratio, grown_ratio, grows_s;
        unsigned grown_every;
        /* steady, rollout */
        double requested_ratio; /* of the cluster's CPUs, at any time */
        /* burst */
        double at_s, over_s, repeat_s;
        size_t count;
        /* jobs */
        double every_s, pods_per_s, job_from_cores, job_to_cores;
};

enum { WORLD_MAX_STREAMS = 4, WORLD_MAX_SHAPES = 4, WORLD_MAX_ZONES = 4 };
enum { SCENARIO_MAX_REPLICAS = 2 };

struct scenario {
        char name[64];
        struct {
                size_t count;
                double cores;
                double speed;    /* a pod's load is divided by it; 0: 1 */
                double joins_s;  /* from the beginning of the warm-up */
                double leaves_s; /* likewise; its pods are evicted; 0: never */
                size_t zone;     /* below WORLD_MAX_ZONES */
        } shapes[WORLD_MAX_SHAPES];
        size_t shape_count;
        double base_from, base_to; /* of each node: what runs beside the pods */
        double base_wave;          /* amplitude of a day's wave in four groups of nodes; 0: none */
        struct stream streams[WORLD_MAX_STREAMS];
        size_t stream_count;
        int64_t warm_up_s, measured_s;
        double dead_exporters; /* share of the nodes whose exporter dies when measuring begins */
        double watch_lag_s;
        double scored_ratio; /* percentageOfNodesToScore / 100; 0: kube-scheduler's own choice */
        bool is_spread;      /* soft topology spread of each workload over the nodes */
        size_t zone_skew;    /* hard topology spread of each over the zones: maxSkew; 0: none */
        size_t replicas;     /* extenders of the estimate, which answer in turn; 0: 1 */
        double restarts_s;   /* from the warm-up's end; the last of them starts anew; -1: never */
};

struct pod {
        uint32_t workload, index;
        double request_cores, request_bytes;
        double cores, bytes; /* its mean load */
        double first_bytes, grown_bytes, grows_s;
        double spike_factor, spike_s;
        double wave, wave_phase;
        int64_t arrives_s, life_s;
        uint64_t seed;
        /* what became of it */
        int32_t node; /* -1: pending */
        int64_t bound_s, starts_s;
        bool has_ended;
        double now_cores, now_bytes; /* in its node's demand at present */
};

struct node {
        char name[16];
        double cores, bytes, speed;
        int64_t joins_s, leaves_s; /* leaves_s 0: never */
        double base_ratio, phase;
        double requested_cores, requested_bytes;
        uint32_t pod_count;
        double demand_cores, mean_cores, used_bytes, mean_bytes;
        size_t zone;
        bool is_exporter_dead;
};

struct world {
        const struct scenario *scenario;
        uint64_t seed;
        int64_t now_s;
        struct node *nodes;
        size_t node_count;
        struct pod *pods; /* in order of arrival */
        size_t pod_count, arrived;
        size_t renewed; /* in place of evicted ones: they stand behind the pod_count others */
        size_t workload_count;
        /* Pods to look at in a second, by their time: an ending or another load. */
        struct agenda *agenda;
        size_t running;
};

struct world *world_new(const struct scenario *scenario, uint64_t seed);
void world_free(struct world *world);
DEFINE_FREEP(struct world, world_free);

typedef void world_end_fn(void *userdata, struct pod *pod);
/** world_step() - a second passes; @on_end for each pod that ends or is evicted in it */
void world_step(struct world *world, world_end_fn *on_end, void *userdata);
/** world_bind() - @pod runs on @node from a few seconds later on */
void world_bind(struct world *world, struct pod *pod, size_t node);
/** world_is_running() - it is bound and has not ended */
bool world_is_running(const struct world *world, const struct pod *pod);
/** world_has_node() - it has joined and not left */
bool world_has_node(const struct world *world, size_t node);
/** world_base_ratio() - what runs on a node beside the pods, of its CPUs */
double world_base_ratio(const struct world *world, size_t node);
/** world_demand_ratio() - of the CPUs; above 1 pods are throttled */
double world_demand_ratio(const struct world *world, size_t node);
/** world_usage_ratio() - of the CPUs, at most 1 */
double world_usage_ratio(const struct world *world, size_t node);
/** world_memory_ratio() - in use, at most 1 */
double world_memory_ratio(const struct world *world, size_t node);

/** world_loses_exporter() - a node's exporter dies when measuring begins */
bool world_loses_exporter(const struct world *world, size_t node);

/** world_random() - [0, 1), by a seed and a place */
double world_random(uint64_t seed, uint64_t place);
