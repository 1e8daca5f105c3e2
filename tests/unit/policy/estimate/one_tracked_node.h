/* A node of 64 cores, with the pods and the readings of CPU that a test gives it. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "policy/estimate/tracked_node.h"

enum { WINDOW_MS = 300000, STEP_MS = 1000, MINUTE_MS = 60000, SYNC_MS = 3 * MINUTE_MS };

static const double CORES = 64;

/* What pods request is expected, and nothing else. */
static const struct cluster_load whole = {{{1, 1}}, {0}};

struct fixture {
        struct tracked_node node;
        struct workload_set *workloads;
};

static inline struct fixture begin_fixture(void) {
        return (struct fixture){.node = {.capacity = {{CORES, 64e9}}},
                                .workloads = workload_set_new()};
}

static inline void end_fixture(struct fixture *fixture) {
        tracked_node_done(&fixture->node, fixture->workloads);
        workload_set_free(fixture->workloads);
}

static inline struct pod_load request_of(double cores) {
        return (struct pod_load){{cores, 1e9}};
}

/* @name: of its workload; NULL: it has none */
static inline void bind_pod(struct fixture *fixture, uint64_t id, const char *name, double cores,
                            int64_t runs_unix_ms) {
        const struct pod_load request = request_of(cores);
        struct workload *workload = NULL;

        if (name)
                workload = workload_set_get(fixture->workloads, name, strlen(name), &request);
        tracked_node_bind(&fixture->node, id, workload, &request, runs_unix_ms, &whole);
        workload_unref(fixture->workloads, workload);
}

static inline void end_pod(struct fixture *fixture, uint64_t id, double cores, int64_t at_unix_ms) {
        const struct pod_load request = request_of(cores);

        tracked_node_end(&fixture->node, fixture->workloads, id, &request, at_unix_ms);
}

static inline void read_cores(struct fixture *fixture, double cores, int64_t ends_unix_ms) {
        const struct tracked_reading reading = {.ratio = cores / CORES,
                                                .begins_unix_ms = ends_unix_ms - WINDOW_MS,
                                                .ends_unix_ms = ends_unix_ms,
                                                .window_ms = WINDOW_MS};

        tracked_node_read(&fixture->node, fixture->workloads, ESTIMATE_CPU, &reading, NULL, &whole);
}

static inline double used_cores(const struct fixture *fixture) {
        return CORES * tracked_node_usage_ratio(&fixture->node, ESTIMATE_CPU, &whole);
}

static inline double base_cores(const struct fixture *fixture) {
        return tracked_node_base(&fixture->node, ESTIMATE_CPU, &whole);
}

static inline double learned_cores(const struct fixture *fixture, const char *name) {
        const struct pod_load request = request_of(1);

        return workload_estimate(workload_set_find(fixture->workloads, name, strlen(name)),
                                 &request, &whole.factor, NULL)
                .of[ESTIMATE_CPU];
}
