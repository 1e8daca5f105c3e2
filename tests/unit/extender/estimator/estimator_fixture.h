/* An estimator as tests of it begin, and what they tell it. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "extender/estimator/estimator.h"

#define NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

enum { WINDOW_MS = 300000, GIB = 1 << 30 };

/* What each test begins with: the node "a" of 10 cores, whose changes are counted. */
static struct estimator *estimator;
static struct estimator_node *node;
static size_t changes;

static inline void count_change(void *userdata, void *owner) {
        ++*(size_t *)owner;
}

static inline struct estimator_node *hold(const char *name) {
        struct estimator_node *held = estimator_node_hold(estimator, name, strlen(name), &changes);

        estimator_set_capacity(held, &(struct pod_load){{10, 32.0 * GIB}});
        return held;
}

static inline int set_up(void **state) {
        estimator = estimator_new(count_change, NULL);
        node = hold("a");
        changes = 0;
        return 0;
}

static inline int tear_down(void **state) {
        estimator_node_release(estimator, node);
        estimator_free(estimator);
        return 0;
}

/* @runs_unix_ms: 0: not yet */
static inline struct pod_facts pod(uint64_t id, const char *name, const char *workload,
                                   double cores, int64_t runs_unix_ms) {
        struct pod_facts pod = {
                .id = id,
                .node = {name, strlen(name)},
                .workload_len = strlen(workload),
                .request = {{cores, GIB}},
                .runs_unix_ms = runs_unix_ms,
        };

        memcpy(pod.workload, workload, pod.workload_len);
        return pod;
}

static inline void bind(uint64_t id, const char *name, const char *workload, double cores,
                        int64_t runs_unix_ms) {
        const struct pod_facts bound = pod(id, name, workload, cores, runs_unix_ms);

        estimator_bind(estimator, &bound);
}

static inline void end(uint64_t id, const char *name, int64_t at_unix_ms) {
        estimator_end(estimator, name, strlen(name), id, at_unix_ms);
}

/* @request_cores, @cores: of one of @pods */
static inline void measure(uint32_t part, const char *workload, double request_cores, double cores,
                           size_t pods) {
        estimator_measure_workload(estimator, part, workload, strlen(workload),
                                   &(struct workload_measure){.mean = {{cores, GIB}},
                                                              .request = {{request_cores, GIB}},
                                                              .pods = pods});
}

static inline void read_cpu_of(struct estimator_node *of, double ratio, int64_t ends_unix_ms) {
        const struct mean_reading reading = {ratio, ends_unix_ms - WINDOW_MS, ends_unix_ms,
                                             WINDOW_MS};

        estimator_read(of, ESTIMATE_CPU, &reading);
}

static inline void read_cpu(double ratio, int64_t ends_unix_ms) {
        read_cpu_of(node, ratio, ends_unix_ms);
}

static inline double cpu_of(const struct estimator_node *of) {
        struct estimator_usage usage;

        estimator_usage(estimator, of, &usage);
        return usage.ratio[ESTIMATE_CPU];
}

static inline double cpu(void) {
        return cpu_of(node);
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)
#define assert_within(a, b, error) assert_float_equal((float)(a), (float)(b), (float)(error))

static inline double factor(void) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        return stats.factor.ratio[ESTIMATE_CPU];
}
