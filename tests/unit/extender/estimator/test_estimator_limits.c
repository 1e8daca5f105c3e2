/* What an estimator does not take in: more pods than it has room for, and what one node or workload
 * says of itself. */
#include <stdio.h>

#include "estimator_fixture.h"

/* A pod that there is no room for leaves nothing behind: its node's name would otherwise take the
 * place of a real node. */
TEST_BETWEEN(too_many_pods, set_up, tear_down) {
        enum { OTHER = 1 + (ESTIMATOR_MAX_PODS - 1) / ESTIMATOR_MAX_PODS_PER_NODE + 1 };
        struct estimator_stats stats;
        char name[16];

        for (uint64_t id = 1; id <= ESTIMATOR_MAX_PODS; id++) {
                (void)snprintf(name, sizeof(name), "full%d",
                               (int)(id - 1) / ESTIMATOR_MAX_PODS_PER_NODE);
                bind(id, name, "", 1, NOW);
        }
        bind(ESTIMATOR_MAX_PODS + 1, "other", "", 1, NOW);
        assert_null(estimator_node_at(estimator, OTHER));
        end(1, "full0", NOW);
        bind(ESTIMATOR_MAX_PODS + 1, "other", "", 1, NOW);
        assert_int_equal(estimator_node_estimate(estimator_node_at(estimator, OTHER))->pod_count,
                         1);
        end(2, "full0", NOW);
        bind(ESTIMATOR_MAX_PODS + 2, "full1", "", 1, NOW); /* this node has all that it may */
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, ESTIMATOR_MAX_PODS - 1);
}

/* What one node says of itself moves what is expected of others by little, when an extender starts
 * and afterwards. */
TEST(one_lying_node) {
        enum { NODES = 20, PODS = 5 };
        static const struct {
                const char *name;
                double capacity, used_ratio, requested;
        } rows[] = {
                {"busy", 10, 2, 1},
                {"idle", 10, 0, 1},
                {"a trillion CPUs", 1e12, 0.5, 1},
                {"next to none", 0.001, 2, 1},
                {"a pod that requests 10,000", 10, 0.5, 10000},
        };

        for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
                struct estimator_node *nodes[NODES];
                char name[8];
                (void)set_up(state);
                for (size_t n = 0; n < NODES; n++) {
                        bool is_lying = n == NODES / 2;
                        (void)snprintf(name, sizeof(name), "n%zu", n);
                        nodes[n] = hold(name);
                        if (is_lying)
                                estimator_set_capacity(
                                        nodes[n], &(struct pod_load){{rows[row].capacity, 32e9}});
                        read_cpu_of(nodes[n],
                                    is_lying ? rows[row].used_ratio : 0.2 + 0.002 * (double)n,
                                    NOW + WINDOW_MS);
                        for (size_t i = 0; i < PODS; i++)
                                bind(1 + n * PODS + i, name, "d/w",
                                     is_lying && i == 0 ? rows[row].requested : 1, NOW);
                }
                measure(0, "d/w", 1, 0.2, PODS * NODES);
                estimator_workloads_ended(estimator, 0);
                estimator_list_ended(estimator, NOW + WINDOW_MS, NOW + WINDOW_MS);
                double base_ratio = cpu(); /* of a node without a reading */
                if (fabs(base_ratio - 0.12) > 0.05)
                        fail_msg("%s: base %g", rows[row].name, base_ratio);
                for (size_t n = 0; n < NODES; n++)
                        estimator_node_release(estimator, nodes[n]);
                (void)tear_down(state);
        }
}

/* Nor does one workload, however it is measured, or however many pods it has. */
TEST(one_lying_workload) {
        enum { WORKLOADS = 20 };
        static const struct {
                double request_cores, cores;
                size_t pods;
        } rows[] = {{1, 10000, 5}, {1, 0, 5}, {10000, 0, 1000000}, {0.001, 10000, 5}, {1, 1, 0}};
        char name[16];

        for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
                (void)set_up(state);
                for (int i = 0; i < WORKLOADS; i++) {
                        (void)snprintf(name, sizeof(name), "d/w%d", i);
                        measure(0, name, 1, 0.4 + 0.004 * i, 5);
                }
                measure(0, "d/liar", rows[row].request_cores, rows[row].cores, rows[row].pods);
                estimator_workloads_ended(estimator, 0);
                estimator_step(estimator, NOW);
                if (fabs(factor() - 0.44) > 0.04)
                        fail_msg("row %zu: factor %g", row, factor());
                (void)tear_down(state);
        }
}
