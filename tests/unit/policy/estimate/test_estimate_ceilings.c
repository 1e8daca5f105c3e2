/* More workloads than a cluster is expected to have. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "policy/estimate/workload.h"

static const struct load_factor whole = {{1, 1}};
static const struct pod_load request = {{1, 1e9}};

static struct workload *workload_numbered(struct workload_set *workloads, int number) {
        char name[32];
        int len = snprintf(name, sizeof(name), "d/w%d", number);

        return workload_set_get(workloads, name, (size_t)len, &request);
}

static const struct workload_lesson lesson = {.cores = 1, .capacity = 4};

/* What was used longest ago makes room; what is held never does. */
TEST(workloads) {
        struct workload_set *workloads = workload_set_new();
        struct workload *held = workload_numbered(workloads, 0);

        for (int i = 1; i <= WORKLOADS_MAX; i++) {
                struct workload *workload = workload_numbered(workloads, i);
                const struct workload_change change = {workload, 1};
                workload_learn(&change, 1, &lesson, &whole);
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

/* More were held than there may be; when their pods are gone, what is over goes. */
TEST(no_longer_held) {
        enum { HELD = WORKLOADS_MAX + 100 };
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload **held = xcalloc(HELD, sizeof(struct workload *));

        for (int i = 0; i < HELD; i++) {
                held[i] = workload_numbered(workloads, i);
                const struct workload_change change = {held[i], 1};
                workload_learn(&change, 1, &lesson, &whole);
        }
        for (int i = 0; i < HELD; i++)
                workload_unref(workloads, held[i]);
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX);
        assert_non_null(workload_set_find(workloads, "d/w100", 6));
        free(held);
}

/* The only one that nobody holds makes room; where all are held, there are more. */
TEST(held_workloads) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();

        for (int i = 1; i <= WORKLOADS_MAX; i++) {
                struct workload *workload = workload_numbered(workloads, i);
                const struct workload_change change = {workload, 1};
                workload_learn(&change, 1, &lesson, &whole);
                if (i == 1)
                        workload_unref(workloads, workload);
        }
        (void)workload_numbered(workloads, -1);
        assert_null(workload_set_find(workloads, "d/w1", 4));
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX);
        (void)workload_numbered(workloads, -2);
        assert_int_equal(workload_set_count(workloads), WORKLOADS_MAX + 1);
}
