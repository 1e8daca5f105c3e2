/* More pods and workloads than a node or the cluster is expected to have. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "policy/estimate/inflight.h"

enum { WINDOW_MS = 300000 };

static const struct load_factor whole = {{1, 1}};
static const struct pod_load request = {{1, 1e9}};

static struct workload *workload_numbered(struct workload_set *workloads, int number) {
        char name[32];
        int len = snprintf(name, sizeof(name), "d/w%d", number);

        return workload_set_get(workloads, name, (size_t)len, &request, &whole);
}

static struct inflight_pod pod_of(struct workload *workload, uint64_t id, int64_t bound_unix_ms) {
        return (struct inflight_pod){.id = id,
                                     .workload = workload,
                                     .request = request,
                                     .bound_unix_ms = bound_unix_ms,
                                     .gone_unix_ms = INFLIGHT_LIVE};
}

static void read_cpu(struct inflight *node, struct workload_set *workloads, double ratio,
                     int64_t ends_unix_ms) {
        const struct inflight_reading reading = {ratio, ends_unix_ms, WINDOW_MS};

        inflight_read(node, workloads, ESTIMATE_CPU, &reading, &whole);
}

/* What was used longest ago makes room; what is held never does. */
TEST(workloads) {
        struct workload_set *workloads = workload_set_new();
        struct workload *held = workload_numbered(workloads, 0);

        for (int i = 1; i <= WORKLOADS_MAX; i++) {
                struct workload *workload = workload_numbered(workloads, i);
                const struct workload_change change = {workload, 1};
                workload_learn(&change, 1, 1, 4);
                workload_unref(workloads, workload);
        }
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX);
        assert_ptr_equal(workload_set_find(workloads, "d/w0", 4), held);
        assert_null(workload_set_find(workloads, "d/w1", 4));
        /* Taken up again, the second is no longer the next to go. */
        struct workload *second = workload_numbered(workloads, 2);
        workload_unref(workloads, workload_numbered(workloads, -1));
        assert_ptr_equal(workload_set_find(workloads, "d/w2", 4), second);
        assert_null(workload_set_find(workloads, "d/w3", 4));
        workload_unref(workloads, second);
        workload_unref(workloads, held);
        workload_set_free(workloads);
        workload_set_free(NULL);
}

/* The only one that nobody holds makes room; where all are held, there are more. */
TEST(held_workloads) {
        struct workload_set *workloads = workload_set_new();

        for (int i = 1; i <= WORKLOADS_MAX; i++) {
                struct workload *workload = workload_numbered(workloads, i);
                const struct workload_change change = {workload, 1};
                workload_learn(&change, 1, 1, 4);
                if (i == 1)
                        workload_unref(workloads, workload);
        }
        (void)workload_numbered(workloads, -1);
        assert_null(workload_set_find(workloads, "d/w1", 4));
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX);
        (void)workload_numbered(workloads, -2);
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX + 1);
        workload_set_free(workloads);
}

/* A reading that moves by more than a number holds teaches nothing. */
TEST(surprise) {
        struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_numbered(workloads, 0);
        const struct workload_change change = {workload, 1e-3};

        workload_learn(&change, 1, 1e308, 1e-6);
        assert_false(workload_is_learned(workload));
        workload_unref(workloads, workload);
        workload_set_free(workloads);
}

/* One reading teaches so many workloads and no more. */
TEST(changes) {
        enum { WORKLOADS = INFLIGHT_MAX_CHANGES + 6 };
        struct workload_set *workloads = workload_set_new();
        struct inflight node = {.capacity = {{64, 64e9}}};
        int learned = 0;

        read_cpu(&node, workloads, 0, 1000000);
        for (int i = 0; i < WORKLOADS; i++) {
                struct workload *workload = workload_numbered(workloads, i);
                const struct inflight_pod pod = pod_of(workload, (uint64_t)i + 1, 1000000);
                inflight_bind(&node, workloads, &pod, &whole);
                workload_unref(workloads, workload); /* the node holds it */
        }
        read_cpu(&node, workloads, 0.5, 1000000 + WINDOW_MS);
        for (size_t i = 0; i < node.group_count; i++)
                learned += workload_is_learned(node.groups[i].workload);
        assert_int_equal(node.group_count, WORKLOADS);
        assert_int_equal(learned, INFLIGHT_MAX_CHANGES);
        inflight_done(&node, workloads);
        workload_set_free(workloads);
}

/* Pods beyond the ceiling count as requested, and not as in flight. */
TEST(recent_pods) {
        enum { PODS = INFLIGHT_MAX_RECENT + 2 };
        struct inflight node = {.capacity = {{64, 64e9}}};
        struct inflight_pod pod = {0};

        for (int i = 0; i < PODS; i++) {
                pod = pod_of(NULL, (uint64_t)i + 1, 1000000);
                inflight_bind(&node, NULL, &pod, &whole);
        }
        assert_int_equal(node.recent_count, INFLIGHT_MAX_RECENT);
        assert_true(node.requested.of[ESTIMATE_CPU] == PODS);
        assert_int_equal(node.groups[0].settled, 2);
        pod.gone_unix_ms = 1000001;
        inflight_end(&node, NULL, &pod, &whole);
        assert_int_equal(node.recent_count, INFLIGHT_MAX_RECENT);
        assert_true(node.requested.of[ESTIMATE_CPU] == PODS - 1);
        assert_int_equal(node.groups[0].settled, 1);
        inflight_done(&node, NULL);
}
