/*
 * Scenario files: YAML, see README.md. Every field is checked by name, and an unknown one is an
 * error: a scenario with a typing mistake would measure something else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "trace.h"

enum { WORLD_MAX_REQUESTS = 8 };

/* How pods of one kind come. */
struct stream {
        enum { STREAM_STEADY, STREAM_BURST, STREAM_JOBS, STREAM_ROLLOUT, STREAM_REPLAY } kind;
        enum { STREAM_OF_REPLICA_SETS, STREAM_OF_JOBS, STREAM_OF_NOBODY } owner;
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
        /* replay: with requested_ratio and a life, or as recorded */
        char trace_name[32];
        struct trace *trace; /* owned; scenario_load_traces() */
        bool is_as_recorded;
        double scale;      /* of what was requested and used */
        double overcommit; /* what was requested is divided by it, too */
};

enum { WORLD_MAX_STREAMS = 4, WORLD_MAX_SHAPES = 4, WORLD_MAX_ZONES = 4 };
enum { SCENARIO_MAX_REPLICAS = 2 };

/* Of nodes; pods request half of it. */
#define BYTES_PER_NODE_CORE (4.0 * (1u << 30))

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
        bool has_zones;            /* nodes have a label that says theirs */
        double base_from, base_to; /* of each node: what runs beside the pods */
        double base_wave;          /* amplitude of a day's wave in four groups of nodes; 0: none */
        struct stream streams[WORLD_MAX_STREAMS];
        size_t stream_count;
        int64_t warm_up_s, measured_s;
        double dead_exporters; /* share of the nodes whose exporter dies when measuring begins */
        double watch_lag_s;
        double scored_ratio; /* percentageOfNodesToScore / 100; 0: kube-scheduler's own choice */
        size_t zone_skew;  /* hard topology spread of workloads over the zones: maxSkew; 0: none */
        size_t replicas;   /* extenders of the estimate, which answer in turn; 0: 1 */
        double restarts_s; /* from the warm-up's end; the last of them starts anew; -1: never */
};

/** scenario_load() - Return: 0; negative errno with file and line in @err */
_must_check_ int scenario_load(const char *path, struct scenario *ret, struct error *err);
/** scenario_load_traces() - what it replays, from @folder; NULL: there is none
 * Return: 0; negative errno with the file in @err */
_must_check_ int scenario_load_traces(struct scenario *scenario, const char *folder,
                                      struct error *err);
/** scenario_done() - release what it owns */
void scenario_done(struct scenario *scenario);
