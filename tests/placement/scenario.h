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
#include "stream.h"

enum { WORLD_MAX_STREAMS = 8, WORLD_MAX_SHAPES = 8, WORLD_MAX_ZONES = 4 };
enum { SCENARIO_MAX_REPLICAS = 2 };

/* Of nodes; pods request half of it. */
#define BYTES_PER_NODE_CORE (4.0 * (1u << 30))

/* Something is away for some time, from the warm-up's end on. */
struct absence {
        double at_s, for_s; /* for_s 0: never */
};

struct scenario {
        char name[64];
        struct {
                size_t count;
                double cores;
                double speed;        /* a pod's load is divided by it; 0: 1 */
                double shared_ratio; /* by how much its CPUs are slower when all are busy */
                double joins_s;      /* from the beginning of the warm-up */
                double leaves_s;     /* likewise; its pods are evicted; 0: never */
                double exporter_s;   /* from joining until its exporter answers */
                double busy_ratio;   /* used next to the pods, for so long after joining */
                double busy_s;
                size_t zone; /* below WORLD_MAX_ZONES */
        } shapes[WORLD_MAX_SHAPES];
        size_t shape_count;
        bool has_zones;            /* nodes have a label that says theirs */
        double base_from, base_to; /* of each node: what runs next to the pods, of its CPUs */
        double base_gib;           /* of memory, of each node */
        double base_wave;          /* amplitude of a day's wave in four groups of nodes; 0: none */
        struct stream streams[WORLD_MAX_STREAMS];
        size_t stream_count;
        int64_t warm_up_s, measured_s;
        double dead_exporters; /* share of the nodes whose exporter dies when measuring begins */
        /* Shares of the nodes whose kubelet answers nothing, or lies about its pods; and of the
         * kubelets' pages that are missing. */
        double silent_kubelets, lying_kubelets, missed_pages;
        double watch_lag_s;
        double scored_ratio; /* percentageOfNodesToScore / 100; 0: kube-scheduler's own choice */
        size_t zone_skew;  /* hard topology spread of workloads over the zones: maxSkew; 0: none */
        size_t replicas;   /* extenders of the estimate, which answer in turn; 0: 1 */
        double restarts_s; /* from the warm-up's end; the last of them starts again; -1: never */
        struct absence watch_away; /* of their watch of pods */
        struct absence controller_away;
};

/** scenario_is_away() - at @now_s from the beginning of the warm-up */
static inline bool scenario_is_away(const struct scenario *scenario, const struct absence *absence,
                                    int64_t now_s) {
        double at_s = (double)(now_s - scenario->warm_up_s) - absence->at_s;

        return at_s >= 0 && at_s < absence->for_s;
}

/** scenario_load() - Return: 0; negative errno with file and line in @err */
_must_check_ int scenario_load(const char *path, struct scenario *ret, struct error *err);
/** scenario_load_traces() - what it replays, from @folder; NULL: there is none
 * Return: 0; negative errno with the file in @err */
_must_check_ int scenario_load_traces(struct scenario *scenario, const char *folder,
                                      struct error *err);
/** scenario_done() - release what it owns */
void scenario_done(struct scenario *scenario);
