/*
 * Which pods come when, and what they use: drawn from the seed alone, so that every algorithm meets
 * the same pods.
 */
#pragma once

#include "scenario.h"

#define POD_HAS_NO_SET UINT32_MAX

struct pod {
        uint32_t workload, index;
        uint32_t set; /* the ReplicaSet that it is of, one for each revision; POD_HAS_NO_SET */
        bool is_bare; /* nobody owns it: nobody knows its workload */
        double request_cores, request_bytes;
        double cores, bytes;  /* its mean load */
        double scaled_factor; /* of its cores at present, where replicas share a load; or 1 */
        double first_bytes, grown_bytes, grows_s;
        double spike_factor, spike_s;
        double wave, wave_phase;
        int64_t arrives_s, start_s, life_s; /* it runs start_s after it was bound, for life_s */
        uint32_t gang;                      /* 0: none */
        uint64_t seed;
        const struct stream *stream;
        /* What it replays; NULL: nothing. Of its series it is moment_s in when the run begins, or
         * when it starts. */
        const struct trace_series *series;
        int64_t moment_s;
        bool is_from_start;
        /* what became of it */
        int32_t node; /* -1: pending */
        struct pod *next_of_gang;
        int64_t bound_s; /* -1: not yet, though it may have its node: its gang is not complete */
        int64_t starts_s, ends_s;
        double lost_before_s; /* its node's lost_s when it started */
        bool has_ended;
        bool follows_eviction;       /* it takes the place of one that world_evict() has evicted */
        double now_cores, now_bytes; /* in its node's demand at present */
};

struct arrivals {
        struct pod *pods; /* in order of arrival */
        size_t count, workload_count, set_count, gang_count;
};

/** pod_draw() - what a pod that is like others of its workload has of its own */
void pod_draw(struct pod *pod, uint64_t seed);
/** arrivals_draw() - @return owns its pods */
struct arrivals arrivals_draw(const struct scenario *scenario, uint64_t seed);
