/*
 * One kind of pods of a scenario: how they come, and what they use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"
#include "trace.h"

enum { WORLD_MAX_REQUESTS = 8 };

/* How pods of one kind come. */
struct stream {
        enum {
                STREAM_STEADY,
                STREAM_BURST,
                STREAM_JOBS,
                STREAM_ROLLOUT,
                STREAM_SCALED,
                STREAM_REPLAY
        } kind;
        enum { STREAM_OF_REPLICA_SETS, STREAM_OF_JOBS, STREAM_OF_NOBODY } owner;
        size_t workloads;
        size_t request_count;
        double requests_cores[WORLD_MAX_REQUESTS];
        /* What a pod uses as a share of its request: every `hot_every`th workload `hot_ratio`, the
         * others `ratio`; 0: none is hot. With is_per_pod it is drawn for every pod. */
        double ratio, hot_ratio;
        size_t hot_every;
        bool is_per_pod;
        double uses_from_cores, uses_to_cores; /* log-uniform, in place of a share; 0: not used */
        double uses_mean_ratio;                /* of the cluster: scales those; 0: as they are */
        double pareto;      /* tail index of a factor with a mean of 1, of each pod; 0: none */
        double wave;        /* amplitude of a day's wave, each workload at another hour; 0: none */
        double noise_sigma; /* of a lognormal factor in time, drawn again so often */
        int64_t noise_every_s;
        /* Between these times of day every `hours_every`th workload uses so much more. */
        int64_t hours_from_s, hours_to_s; /* hours_to_s 0: none */
        double hours_factor;
        size_t hours_every;
        /* Pods of every `release_every`th workload that come later than that after the warm-up use
         * so much more. */
        double release_factor; /* 0: no release */
        int64_t release_s;
        size_t release_every;
        /* A share of the pods use so much more from that long after their start on. */
        double growth_factor, growth_ratio; /* growth_ratio 0: none */
        int64_t growth_after_s;
        int64_t start_from_s, start_to_s; /* from being bound until it runs; uniform */
        double life_mean_s;               /* exponential */
        double life_from_s, life_to_s;    /* uniform, in place of a mean; 0: not used */
        bool is_life_of_cpu;              /* a pod that is throttled lives longer */
        double spike_factor, spike_s;     /* while it starts; 1: none */
        /* Memory as a share of the request; of every `grown_every`th workload it grows within
         * `grows_s` to `grown_ratio`. */
        double memory_ratio, grown_ratio, grows_s;
        size_t grown_every;
        /* steady, rollout; scaled: to begin with */
        double requested_ratio; /* of the cluster's CPUs, at any time; 0: `count` pods */
        /* burst */
        double at_s, over_s, repeat_s;
        size_t count;
        /* jobs */
        double every_s, pods_per_s, job_from_cores, job_to_cores;
        bool is_gang; /* a job's pods come at once, and are bound when there is room for all */
        /* replay: with requested_ratio and a life, or as recorded */
        char trace_name[32];
        struct trace *trace; /* owned; scenario_load_traces() */
        bool is_as_recorded;
        double scale;      /* of what was requested and used */
        double overcommit; /* what was requested is divided by it, too */
};

/** stream_read() - an item of `pods`. Return: 0; -EINVAL with the line in @err */
_must_check_ int stream_read(const struct tree_node *pods, struct stream *ret, struct error *err);
