/* What an estimator does not take in: more pods than it has room for, and what readings seem to
 * show while pods are missing. */
#include <stdio.h>

#include "estimator_fixture.h"

/* A pod that there is no room for leaves nothing behind: its node's name would otherwise take the
 * place of a real node. */
TEST_BETWEEN(too_many_pods, set_up, tear_down) {
        enum { A, FULL, OTHER };

        for (uint64_t id = 1; id <= POD_TABLE_MAX; id++)
                bind(id, "full", "", 1, NOW);
        bind(POD_TABLE_MAX + 1, "other", "", 1, NOW);
        assert_non_null(estimator_tracked(estimator, FULL));
        assert_null(estimator_tracked(estimator, OTHER));
        bind(POD_TABLE_MAX + 1, "full", "", 1, NOW);
        estimator_end(estimator, POD_TABLE_MAX, NOW);
        bind(POD_TABLE_MAX + 1, "other", "", 1, NOW);
        assert_int_equal(estimator_tracked(estimator, OTHER)->pod_count, 1);
}

/* What a reading teaches depends on whether all pods are known that its windows hold: nothing while
 * they are not; in doubt for as long as pods may have ended that nobody knew. */
TEST(known_since) {
        static const struct {
                int64_t since_unix_ms;
                bool is_learned, is_sure;
        } rows[] = {
                {INT64_MAX, false, false},      {NOW - 2 * WINDOW_MS, true, true},
                {NOW - WINDOW_MS, true, true},  {NOW - WINDOW_MS + 1, true, false},
                {NOW + WINDOW_MS, true, false},
        };
        const struct pod_load request = {{4, 1e9}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                (void)set_up(state);
                estimator_set_known_since(estimator, rows[i].since_unix_ms);
                read_cpu(0.1, NOW);
                for (uint64_t id = 1; id <= 8; id++)
                        bind(id, "a", "d/w", 1, NOW);
                read_cpu(0.9, NOW + WINDOW_MS);
                struct estimator_expectation of = estimator_expect(estimator, "d/w", 3, &request);
                assert_int_equal(of.is_learned, rows[i].is_learned);
                assert_true(fabs(of.load.of[ESTIMATE_CPU] - (of.is_learned ? 1 : 4)) < 0.3);
                const struct workload_set *workloads = estimator_workloads(estimator);
                for (int step = 0; step < 2; step++) {
                        estimator_step(estimator, NOW + WINDOW_MS + step * ESTIMATOR_DOUBT_MS);
                        bool is_kept = workload_is_learned(workload_set_find(workloads, "d/w", 3));
                        assert_int_equal(is_kept,
                                         rows[i].is_learned && (step == 0 || rows[i].is_sure));
                }
                (void)tear_down(state);
        }
}

/* A list after which no pod can be missing changes nothing; others begin what is known. */
TEST_BETWEEN(known_since_a_list, set_up, tear_down) {
        const int64_t *since = &estimator_cluster(estimator)->pods_known_since_unix_ms;

        assert_int_equal(*since, INT64_MAX);
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW, NOW);
        assert_int_equal(*since, NOW);
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 5000, NOW + 6000);
        assert_int_equal(*since, NOW);
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 10000, NOW + 60000);
        assert_int_equal(*since, NOW + 60000);
        estimator_set_back(estimator, 30000, NOW + 70000);
        assert_int_equal(*since, NOW + 60000);
        estimator_set_back(estimator, 30000, NOW + 50000);
        assert_int_equal(*since, NOW + 30000);
        estimator_set_known_since(estimator, INT64_MAX);
        estimator_set_back(estimator, 30000, NOW);
        assert_int_equal(*since, INT64_MAX);
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
                estimator_list_ended(estimator, NOW + WINDOW_MS, NOW + WINDOW_MS);
                for (int step = 0; step < 200; step++) {
                        double factor = estimator_cluster(estimator)->factor.ratio[ESTIMATE_CPU],
                               base = estimator_cluster(estimator)->base_ratio[ESTIMATE_CPU];
                        if (fabs(factor - 0.44) > 0.08 || base > 0.05)
                                fail_msg("%s: factor %g, base %g", rows[row].name, factor, base);
                        estimator_step(estimator, NOW + WINDOW_MS);
                }
                for (size_t n = 0; n < NODES; n++)
                        estimator_node_release(estimator, nodes[n]);
                (void)tear_down(state);
        }
}
