/* The estimate of a cluster: its pods against a model, and what nodes are said to use. */
#include <stdio.h>

#include "estimator_fixture.h"

/* An event with another request moves the usage once, however often it comes. */
TEST_BETWEEN(resize, set_up, tear_down) {
        bind(1, "a", "", 1, NOW);
        bind(2, "a", "", 2, NOW);
        for (int i = 0; i < 2; i++) {
                bind(1, "a", "", 3, NOW);
                assert_near(cpu(), 0.5);
                assert_int_equal(changes, 3);
        }
        bind(1, "a", "", 0, NOW); /* counts as 100m */
        assert_near(cpu(), 0.21);
        end(1, "a", NOW);
        end(2, "a", NOW);
        assert_near(cpu(), 0);
}

/* In place, only the expectation of a pod that is not measured is another. */
TEST_BETWEEN(resize_of_a_measured_pod, set_up, tear_down) {
        measure(0, "d/w", 1, 0.5, 1);
        bind(1, "a", "d/w", 1, NOW);
        bind(1, "a", "d/w", 8, NOW);
        assert_near(cpu(), 0.05);
}

/* However many pods came and went, what the live ones use is what they use. */
TEST_BETWEEN(many_that_came_and_went, set_up, tear_down) {
        enum { GONE = 100000 };

        bind(1, "a", "d/w", 0.1, 0);
        for (uint64_t id = 2; id < GONE; id++) {
                bind(id, "a", "d/w", 0.3, 0);
                end(id, "a", NOW);
        }
        assert_near(cpu(), 0.01);
}

/* A pod that is bound to another node than before, by an API server that was restored from a
 * backup, is there and no longer here after its list. */
TEST_BETWEEN(bound_elsewhere, set_up, tear_down) {
        struct estimator_node *b = hold("b");
        struct estimator_stats stats;

        bind(1, "a", "d/w", 1, NOW);
        estimator_list_begins(estimator);
        bind(1, "b", "d/w", 1, NOW);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(cpu(), 0);
        assert_near(cpu_of(b), 0.1);
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, 1);
        estimator_node_release(estimator, b);
}

/* A list ends all pods that it does not have, however many, and forgets their nodes. */
TEST_BETWEEN(list_of_nothing, set_up, tear_down) {
        enum { PODS = 300, OTHER = 1 };
        struct estimator_stats stats;

        for (uint64_t id = 1; id <= PODS; id++)
                bind(id, id % 3 ? "a" : "other", "", 0.01, id % 2 ? NOW : 0);
        assert_non_null(estimator_node_at(estimator, OTHER));
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 1000, NOW + 1000);
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, 0);
        assert_near(cpu(), 0);
        assert_null(estimator_node_at(estimator, OTHER));
}

/* Bindings and ends move the usage at once; a reading is believed. */
TEST_BETWEEN(usage, set_up, tear_down) {
        static const double no_capacity[] = {0, -1, NAN, INFINITY, 1e300, 1e-300};
        struct estimator_usage usage;

        bind(1, "a", "", 1, NOW - WINDOW_MS - 1000); /* the reading holds it whole */
        for (size_t i = 0; i < ARRAY_LEN(no_capacity); i++) {
                estimator_set_capacity(node, &(struct pod_load){{no_capacity[i], 32.0 * GIB}});
                estimator_usage(estimator, node, &usage);
                assert_false(usage.is_known[ESTIMATE_CPU]);
                assert_near(usage.ratio[ESTIMATE_CPU], 0);
        }
        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        assert_near(cpu(), 0.1);
        read_cpu(0.3, NOW);
        double read = cpu();
        assert_near(read, 0.3);
        bind(2, "a", "", 2, NOW);
        assert_near(cpu(), read + 2.0 / 10);
        bind(2, "a", "", 2, NOW); /* known already */
        assert_near(cpu(), read + 2.0 / 10);
        end(2, "a", NOW + 1000);
        end(2, "a", NOW + 1000);
        end(77, "a", NOW + 1000);
        end(1, "b", NOW + 1000);
        assert_near(cpu(), read);
        end(1, "a", NOW);
        assert_near(cpu(), read - 0.1);
        assert_int_equal(changes, 4);

        estimator_usage(estimator, node, &usage);
        assert_true(usage.is_known[ESTIMATE_CPU] && !usage.is_known[ESTIMATE_MEM]);
        assert_near(usage.per_capacity[ESTIMATE_CPU], 0.1);
        /* Of another capacity the reading says nothing. */
        assert_true(estimator_set_capacity(node, &(struct pod_load){{20, 32.0 * GIB}}));
        assert_false(estimator_set_capacity(node, &(struct pod_load){{20, 32.0 * GIB}}));
        estimator_usage(estimator, node, &usage);
        assert_false(usage.is_known[ESTIMATE_CPU]);
}

/* The last reading held the pod already. */
TEST_BETWEEN(start_that_is_known_late, set_up, tear_down) {
        read_cpu(0.5, NOW);
        bind(1, "a", "d/w", 1, 0);
        assert_near(cpu(), 0.5 + 0.1);
        changes = 0;
        bind(1, "a", "d/w", 1, 0);
        assert_int_equal(changes, 0);
        bind(1, "a", "d/w", 1, NOW - WINDOW_MS);
        assert_int_equal(changes, 1);
        assert_near(cpu(), 0.5);
}

/* Numbers are of one node each, and are used again. */
TEST_BETWEEN(numbers, set_up, tear_down) {
        struct estimator_node *b = estimator_node_hold(estimator, "b", 1, &changes);

        assert_int_equal(estimator_node_number(node), 0);
        assert_int_equal(estimator_node_number(b), 1);
        bind(1, "b", "", 1, NOW);
        estimator_node_release(estimator, b); /* its pod still names it */
        b = estimator_node_hold(estimator, "b", 1, &changes);
        assert_int_equal(estimator_node_number(b), 1);
        end(1, "b", NOW);
        estimator_node_release(estimator, b);
        struct estimator_node *c = estimator_node_hold(estimator, "c", 1, &changes);
        assert_int_equal(estimator_node_number(c), 1);
        estimator_node_release(estimator, c);
}

/* The number of a node that is gone is of none until it is used again. */
TEST_BETWEEN(free_numbers, set_up, tear_down) {
        enum { HELD, FREE, NEVER_USED };
        struct estimator_node *gone = estimator_node_hold(estimator, "gone", 4, &changes);

        estimator_node_release(estimator, gone);
        assert_null(estimator_node_at(estimator, FREE));
        assert_ptr_equal(estimator_node_at(estimator, HELD), node);
        assert_null(estimator_node_at(estimator, NEVER_USED));
        bind(1, "a", "d/w", 4, NOW - WINDOW_MS);
        read_cpu(0.2, NOW);
        estimator_list_begins(estimator);
        bind(1, "a", "d/w", 4, NOW - WINDOW_MS);
        estimator_list_ended(estimator, NOW, NOW);
        estimator_step(estimator, NOW);
        assert_near(cpu(), 0.2);
        end(1, "a", NOW + 3000);
        estimator_set_back(estimator, 2000, NOW);
        assert_int_equal(estimator_node_estimate(node)->pods[0].gone_unix_ms, NOW + 1000);
        assert_null(estimator_node_at(estimator, FREE));
}

/* Of more nodes than there may be nothing is known, as if they were not there. */
TEST_BETWEEN(too_many_nodes, set_up, tear_down) {
        enum { MOST = ESTIMATOR_MAX_NODES - 1 }; /* next to "a" */
        struct estimator_stats stats;
        char name[16];

        for (uint64_t i = 1; i <= MOST + 1; i++) {
                (void)snprintf(name, sizeof(name), "n%d", (int)i);
                bind(i, name, "", 1, NOW);
        }
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, MOST);
        struct estimator_node *last = estimator_node_hold(estimator, name, strlen(name), &changes);
        assert_null(last);
        estimator_node_release(estimator, last);
        end(1, "n1", NOW); /* makes room */
        bind(MOST + 1, name, "", 1, NOW);
        last = estimator_node_hold(estimator, name, strlen(name), &changes);
        assert_non_null(last);
        estimator_node_release(estimator, last);
}

/* What is measured counts for new pods at once, and on nodes from the next step on. */
TEST_BETWEEN(measured, set_up, tear_down) {
        const struct pod_load request = {{1, GIB}};
        struct estimator_stats stats;

        bind(1, "a", "d/w", 1, NOW);
        bind(2, "a", "d/other", 1, NOW);
        struct estimator_expectation expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 1);
        assert_false(expected.is_measured);
        changes = 0;
        estimator_workloads_begin(estimator);
        measure(0, "d/w", 1, 0.2, 3);
        estimator_workloads_ended(estimator, 0);
        expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 0.2);
        assert_true(expected.is_measured);
        assert_int_equal(changes, 0);
        estimator_step(estimator, NOW);
        assert_int_equal(changes, 1);
        estimator_step(estimator, NOW);
        assert_int_equal(changes, 1); /* nothing is new */
        assert_near(factor(), 0.2);
        assert_near(cpu(), 0.04);
        expected = estimator_expect(estimator, "d/other", 7, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 0.2);
        assert_near(expected.factor.ratio[ESTIMATE_CPU], 0.2);
        assert_false(expected.is_measured);
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.workloads, 1);
        assert_int_equal(estimator_pods(estimator).bound, 2);
        assert_int_equal(estimator_pods(estimator).measured, 1);
        /* A part without it: it is measured no longer. */
        estimator_workloads_begin(estimator);
        estimator_workloads_ended(estimator, 0);
        assert_false(estimator_expect(estimator, "d/w", 3, &request).is_measured);
}

/* Each pod by itself, as long as the list has it. */
TEST_BETWEEN(measured_pods, set_up, tear_down) {
        const struct pod_usage_list list = {2, {{7, {{3, GIB}}}, {8, {{1, GIB}}}}}, none = {0};
        struct pod_facts bound = pod(1, "a", "d/w", 1, NOW);

        bound.uid = (struct skim_string){"00000007", 8};
        estimator_bind(estimator, &bound);
        estimator_measure_pods(node, &list);
        assert_near(cpu(), 0.3);
        estimator_step(estimator, NOW);
        assert_int_equal(estimator_pods(estimator).measured, 1);
        estimator_measure_pods(node, &none);
        assert_near(cpu(), 0.1);
        estimator_step(estimator, NOW);
        assert_int_equal(estimator_pods(estimator).measured, 0);
}

/* A node without a reading has the base of those with one; no pods make it less than 0. */
TEST_BETWEEN(base, set_up, tear_down) {
        static const struct {
                double read, base;
        } rows[] = {{0.3, 0.2}, {0.05, 0}, {0.1, 0}, {0.2, 0.1}};
        struct estimator_node *unread = hold("b");

        measure(0, "d/w", 1, 1, 1);
        bind(1, "a", "d/w", 1, NOW - WINDOW_MS);
        estimator_list_ended(estimator, NOW, NOW);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                read_cpu(rows[i].read, NOW);
                estimator_step(estimator, NOW);
                assert_near(cpu_of(unread), rows[i].base);
        }
        read_cpu(0.7, NOW);
        estimator_step(estimator, NOW + 2 * WINDOW_MS); /* too old */
        assert_near(cpu_of(unread), 0.1);
        estimator_node_release(estimator, unread);
}

/* Pods that ran before the extender started are in the reading. */
TEST_BETWEEN(start, set_up, tear_down) {
        read_cpu(0.4, NOW);
        estimator_list_begins(estimator);
        for (uint64_t id = 1; id <= 10; id++)
                bind(id, "a", "d/w", 1, NOW - 3600000 + (int64_t)id);
        assert_int_equal(changes, 10);
        estimator_list_ended(estimator, NOW, NOW);
        assert_int_equal(changes, 11);
        assert_near(factor(), 1); /* nothing is measured of pods */
        assert_near(cpu(), 0.4);
        bind(11, "a", "d/new", 1, NOW);
        assert_near(cpu(), 0.5);
}

/* Pods count for the part of the window in which they did not run. */
TEST_BETWEEN(start_amid_bindings, set_up, tear_down) {
        read_cpu(0.4, NOW);
        estimator_list_begins(estimator);
        bind(1, "a", "d/w", 1.6, NOW - 3600000);
        bind(2, "a", "d/w", 2, NOW - WINDOW_MS / 5);
        bind(3, "a", "d/w", 1, NOW);
        bind(4, "a", "d/w", 1, 0);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(cpu(), 0.4 + (2 * 0.8 + 1 + 1) / 10);
}

TEST_BETWEEN(reservations, set_up, tear_down) {
        const struct pod_load load = {{1, GIB}};
        const struct reservation_pod bound = {.id = 1}, next = {.id = 2};
        struct reservation got[RESERVATIONS_MAX];

        estimator_published(estimator, 1);
        estimator_reserve(estimator, &bound, 5, &load, 1000);
        assert_int_equal(estimator_reservations(estimator, &next, 1, 1000, got), 1);
        assert_int_equal(got[0].node_number, 5);
        assert_int_equal(estimator_reservations(estimator, &next, 1, 1000 + RESERVATION_MS, got),
                         0);
        estimator_reserve(estimator, &bound, 5, &load, 2000);
        bind(1, "elsewhere", "", 1, NOW); /* seen: it counts by itself from here on */
        assert_int_equal(estimator_reservations(estimator, &next, 1, 2000, got), 0);
        estimator_reserve(estimator, &next, estimator_node_number(node), &load, 2000);
        bind(2, "a", "", 1, NOW);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 1);
        estimator_published(estimator, 2);
        assert_int_equal(estimator_reservations(estimator, &bound, 2, 2000, got), 0);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 1);
        estimator_published(estimator, 3);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 0);
}

/* A node that is made again, while a pod of the old one is still there, may be another machine:
 * what was read of the old one holds no more. */
TEST_BETWEEN(made_again, set_up, tear_down) {
        read_cpu(0.9, NOW);
        bind(1, "a", "d/w", 0.5, NOW);
        assert_within(cpu(), 0.95, 0.01);
        estimator_node_release(estimator, node);
        node = hold("a");
        assert_within(cpu(), 0.05, 0.01);
        read_cpu(0.1, NOW + WINDOW_MS);
        assert_within(cpu(), 0.1, 0.01);
}

/* What is known of one pod, for who moves it: whole, whatever its node's reading has of it yet. And
 * what the reading says of pods that a kubelet takes for too much. */
TEST_BETWEEN(one_pod, set_up, tear_down) {
        struct node_pod_load load;

        read_cpu(0.5, NOW);
        bind(1, "a", "shop/ReplicaSet/web", 4, NOW - WINDOW_MS / 2);
        assert_true(estimator_pod_load(estimator, node, 1, &load));
        assert_near(load.used.of[ESTIMATE_CPU], 4);
        assert_int_equal(load.runs_unix_ms, NOW - WINDOW_MS / 2);
        /* The margin is that of this pod alone. */
        struct estimator_usage usage;
        estimator_usage(estimator, node, &usage);
        assert_near(sqrt(load.variance.of[ESTIMATE_CPU]) / 10, usage.margin_ratio[ESTIMATE_CPU]);
        assert_near(estimator_window_share(estimator, node, ESTIMATE_CPU), 1);
        /* 2 cores in the window, and 8 more. */
        bind(2, "a", "shop/ReplicaSet/web", 8, NOW - WINDOW_MS);
        assert_near(estimator_window_share(estimator, node, ESTIMATE_CPU), 0.5);
        assert_false(estimator_pod_load(estimator, node, 3, &load));
        end(1, "a", NOW);
        assert_false(estimator_pod_load(estimator, node, 1, &load));
}
