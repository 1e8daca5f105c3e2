/* What is known of workloads, and what is expected of a pod. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>

#include "base/mem.h"
#include "policy/estimate/workload.h"

static void measure(struct workload_set *set, uint32_t part, const char *name, double cores) {
        workload_set_measure(set, part, name, strlen(name),
                             &(struct workload_measure){.mean = {{cores, 1e9}}, .pods = 3});
}

static const struct workload_measure *find(const struct workload_set *set, const char *name) {
        return workload_set_find(set, workload_key(name, strlen(name)));
}

TEST(expectation) {
        static const struct workload_measure known = {.mean = {{0.3, 2e9}}, .spread = {{0.1, 5e8}}};
        const struct pod_load request = {{1, 1e9}};
        const struct load_factor factor = {{0.5, 2}};
        struct pod_load spread;

        struct pod_load load = workload_expect(&known, &request, &factor, &spread);
        assert_true(load.of[ESTIMATE_CPU] == 0.3 && load.of[ESTIMATE_MEM] == 2e9);
        assert_true(spread.of[ESTIMATE_CPU] == 0.1 && spread.of[ESTIMATE_MEM] == 5e8);
        load = workload_expect(NULL, &request, &factor, &spread);
        assert_true(load.of[ESTIMATE_CPU] == 0.5 && load.of[ESTIMATE_MEM] == 2e9);
        assert_true(spread.of[ESTIMATE_CPU] == 1 && spread.of[ESTIMATE_MEM] == 1e9);
        load = workload_expect(NULL, &request, &factor, NULL);
        assert_true(load.of[ESTIMATE_CPU] == 0.5);
}

/* A part replaces what it had before; a workload that moves to another part stays. */
TEST(parts) {
        _cleanup_(workload_set_freep) struct workload_set *set = workload_set_new();

        workload_set_part_begins(set);
        measure(set, 0, "d/a", 1);
        measure(set, 0, "d/b", 2);
        measure(set, 0, "d/c", 3);
        workload_set_part_ended(set, 0);
        workload_set_part_begins(set);
        measure(set, 1, "d/c", 4);
        workload_set_part_ended(set, 1);
        workload_set_part_begins(set);
        measure(set, 0, "d/b", 5);
        workload_set_part_ended(set, 0);
        assert_null(find(set, "d/a"));
        assert_true(find(set, "d/b")->mean.of[ESTIMATE_CPU] == 5);
        assert_true(find(set, "d/c")->mean.of[ESTIMATE_CPU] == 4);
        assert_int_equal(workload_set_count(set), 2);
        assert_null(workload_set_find(set, workload_key("", 0))); /* a pod without an owner */
        workload_set_free(NULL);
}

static void keep_name(void *userdata, const char *name, size_t name_len,
                      const struct workload_measure *measure) {
        assert_int_equal(name_len, strlen(name));
        assert_int_equal(measure->pods, 3);
        assert_null(*(const char **)userdata);
        *(const char **)userdata = name;
}

TEST(each) {
        _cleanup_(workload_set_freep) struct workload_set *set = workload_set_new();
        const char *name = NULL;

        measure(set, 0, "d/a", 1);
        workload_set_each(set, keep_name, &name);
        assert_string_equal(name, "d/a");
}

/* More than there is room for: those that are known are still measured. */
TEST(ceiling) {
        _cleanup_(workload_set_freep) struct workload_set *set = workload_set_new();
        char name[32];

        for (int i = 0; i <= WORKLOADS_MAX; i++) {
                (void)snprintf(name, sizeof(name), "d/w%d", i);
                measure(set, 0, name, 1);
        }
        assert_int_equal(workload_set_count(set), WORKLOADS_MAX);
        assert_null(find(set, name));
        measure(set, 0, "d/w0", 7);
        assert_true(find(set, "d/w0")->mean.of[ESTIMATE_CPU] == 7);
}
