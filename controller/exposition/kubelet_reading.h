/*
 * A kubelet's exposition as numbers, and the usage between two of them. Pure.
 *
 *     node_cpu_usage_seconds_total 7035.284543992 1795294586458
 *     node_memory_working_set_bytes 2.65166848e+08 1795294586458
 *     node_swap_usage_bytes 0 1795294586458
 *     resource_scrape_error 0
 *
 * /metrics/resource has CPU, memory and swap. /metrics/cadvisor also has the pressure of cgroup `/`
 * (pkg/kubelet/metrics/collectors/resource_metrics.go, and cadvisor's metrics/prometheus.go). The
 * capacity is not in the exposition: it is the Node's status.capacity.
 *
 * The kubelet returns a sample that is up to 15 s old, and repeats it until it has the next one.
 * The timestamp after a value is the sample's time: rates divide by the difference of two, and a
 * value with the same time as the previous one is not a new sample. A sample is *stale* if it was
 * first seen more than KUBELET_STALE_MS ago. A value without a timestamp is as old as the response.
 * A value with an invalid timestamp is rejected.
 *
 * A broken kubelet reports zeros with fresh timestamps, which would make its node look idle. A
 * running node always uses memory, so 0 bytes is not a value. Its CPU time always grows, so an
 * unchanged CPU time is a repeated sample: the interval ends when it grows again, and has the mean
 * over the whole time. (Windows kubelets count in whole percent of all CPUs, so the CPU time of an
 * idle node may stand still for a while.)
 *
 * CPU is user + nice + system + irq + softirq, without iowait. Memory is the working set, without
 * inactive files. Both are therefore lower than node_exporter's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/exposition.h"
#include "controller/window/window.h"
#include "policy/metric_name.h"

enum {
        KUBELET_STALE_MS = 60 * 1000,
        /* The most that an interval on the node's clock may differ from ours: samples are taken
         * every 10 to 15 s, not when we ask. If it differs by more, a clock was set, and the
         * interval does not count. */
        KUBELET_MAX_SKEW_MS = 45 * 1000,
        KUBELET_MAX_FAMILIES = 8,
};

/* The resources that a kubelet reports, a bit each. */
#define KUBELET_PRESSURE                                                                           \
        (UINT32_C(1) << METRIC_PSI_CPU | UINT32_C(1) << METRIC_PSI_MEM |                           \
         UINT32_C(1) << METRIC_PSI_IO)
#define KUBELET_RESOURCES                                                                          \
        (UINT32_C(1) << METRIC_CPU | UINT32_C(1) << METRIC_MEM | UINT32_C(1) << METRIC_SWAP |      \
         KUBELET_PRESSURE)

/* The exposition to read, and the resources in it. */
struct kubelet_wants {
        uint32_t resources;
        bool is_cadvisor; /* /metrics/cadvisor, because the policy needs pressure */
        uint8_t resource[KUBELET_MAX_FAMILIES]; /* METRIC_RESOURCE_COUNT: the error */
        struct exposition_set set;
};

/** kubelet_wants_init() - @resources: NODE_RESOURCE_BIT()s; others than KUBELET_RESOURCES are
 * ignored */
void kubelet_wants_init(struct kubelet_wants *wants, uint32_t resources);
/** kubelet_wants_path() - the path of the exposition: @own_path if it is not NULL, unless the
 * policy needs pressure */
const char *kubelet_wants_path(const struct kubelet_wants *wants, const char *own_path);

/* The Node's capacity; 0: unknown. */
struct kubelet_capacity {
        double cpu_cores, memory_bytes, swap_bytes;
};

struct kubelet_sample {
        double value;       /* seconds or bytes */
        int64_t at_unix_ms; /* by the node's clock */
        int64_t seen_mono_ms;
};

/** kubelet_interval_s() - the seconds between two samples on the node's clock; 0: they cannot be
 * compared, see KUBELET_MAX_SKEW_MS */
double kubelet_interval_s(const struct kubelet_sample *before, const struct kubelet_sample *after);

/* The latest samples. Zero-initialised: none. */
struct kubelet_state {
        uint32_t known;
        struct kubelet_sample samples[METRIC_RESOURCE_COUNT];
};

enum kubelet_outcome {
        KUBELET_NEW,          /* there is a step */
        KUBELET_REPEATED,     /* no new sample yet */
        KUBELET_STALE,        /* no new sample for too long */
        KUBELET_SCRAPE_ERROR, /* the kubelet could not read its own statistics */
        KUBELET_NO_METRICS,   /* the exposition has no wanted family */
        KUBELET_NO_CAPACITY,  /* the Node has no capacity for the reported resources */
};

struct kubelet_clocks {
        int64_t now_mono_ms, now_unix_ms;
};

struct kubelet_reading {
        struct window_step step; /* with KUBELET_NEW, for window_store_add() */
        const char
                *why[WINDOW_MAX_CHANNELS]; /* why a wanted resource has no value; constant text */
        size_t malformed;                  /* unusable lines and values */
};

/**
 * kubelet_reading_take() - compare an exposition with the previous samples, and keep its samples
 * @text: any bytes, not kept; linear time, no memory
 * @is_complete: see exposition_begin()
 * @ret: always set; its step is empty unless KUBELET_NEW is returned
 */
enum kubelet_outcome kubelet_reading_take(struct kubelet_state *state,
                                          const struct kubelet_wants *wants,
                                          const struct kubelet_capacity *capacity, const char *text,
                                          size_t text_bytes, bool is_complete,
                                          const struct kubelet_clocks *clocks,
                                          struct kubelet_reading *ret);
