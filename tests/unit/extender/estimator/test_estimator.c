/* The estimate of a cluster: its pods against a model, and what nodes are said to use. */
#include "tests/unit/fixture/draw.h"

#include <stdio.h>

#include "estimator_fixture.h"

/* Few distinct low bits, so that entries collide and gaps are filled across the array's end. */
TEST(pod_table) {
        enum { IDS = 3000 };
        struct pod_table table = {0};
        bool is_there[IDS] = {0};
        size_t count = 0;

        for (int round = 0; round < 100000; round++) {
                uint64_t i = draw() % IDS;
                uint64_t id = 1 + i / 3 + (i % 3 << 40) + (i % 2 ? 1021 : 0);
                struct pod_entry *entry = pod_table_get(&table, id + (i << 48));
                assert_int_equal(entry != NULL, is_there[i]);
                if (entry) {
                        assert_int_equal(entry->generation, i + 2);
                        pod_table_remove(&table, entry);
                        count--;
                } else {
                        entry = pod_table_add(&table, id + (i << 48));
                        assert_non_null(entry);
                        entry->generation = (uint32_t)i + 2;
                        count++;
                }
                is_there[i] = !is_there[i];
                assert_int_equal(table.count, count);
        }
        for (size_t i = 0; i < IDS; i++) {
                uint64_t id = 1 + i / 3 + (i % 3 << 40) + (i % 2 ? 1021 : 0) + (i << 48);
                assert_int_equal(pod_table_get(&table, id) != NULL, is_there[i]);
        }
        struct pod_entry *entry;
        size_t position = 0, swept = 0;
        for (; (entry = pod_table_sweep(&table, 1, &position)); swept++)
                pod_table_remove(&table, entry);
        assert_int_equal(swept, count);
        assert_int_equal(table.count, 0);
        pod_table_done(&table);
}

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
        estimator_end(estimator, 1, NOW);
        estimator_end(estimator, 2, NOW);
        assert_near(cpu(), 0);
}

static void keep_request(void *userdata, const struct workload_facts *facts) {
        *(double *)userdata = facts->request_cores;
}

/* However many pods came and went, what the live ones request is what they request. */
TEST_BETWEEN(many_that_came_and_went, set_up, tear_down) {
        enum { GONE = 100000 };
        double request_cores = 0;

        bind(1, "a", "d/w", 0.1, TRACKED_NEVER);
        for (uint64_t id = 2; id < GONE; id++) {
                bind(id, "a", "d/w", 0.3, TRACKED_NEVER);
                estimator_end(estimator, id, NOW);
        }
        double requested = estimator_tracked(estimator, estimator_node_number(node))
                                   ->requested.of[ESTIMATE_CPU];
        assert_near(requested, 0.1);
        workload_set_each(estimator_workloads(estimator), keep_request, &request_cores);
        assert_near(request_cores, 0.1);
}

/* A pod that is bound to another node than before, by an API server that was restored from a
 * backup, is there and no longer here. */
TEST_BETWEEN(bound_elsewhere, set_up, tear_down) {
        static const char *const names[] = {"a", "b", "bb", "a"};
        struct estimator_node *nodes[ARRAY_LEN(names)];
        struct estimator_stats stats;

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                nodes[i] = hold(names[i]);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                bind(1, names[i], "d/w", 1, NOW);
                for (size_t k = 0; k < ARRAY_LEN(names); k++)
                        assert_near(cpu_of(nodes[k]), nodes[k] == nodes[i] ? 0.1 : 0);
                estimator_stats(estimator, 0, &stats);
                assert_int_equal(stats.pods, 1);
        }
        assert_int_equal(changes, 2 * ARRAY_LEN(names) - 1);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                estimator_node_release(estimator, nodes[i]);
}

/* Bindings and ends move the usage at once; a reading is believed except for its noise. */
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
        assert_within(read, 0.3, 0.005);
        read_cpu(0.3, NOW); /* known already */
        assert_near(cpu(), read);
        read_cpu(0.4, NOW); /* of the same time, and another one */
        assert_true(cpu() > read + 0.05);
        read_cpu(0.3, NOW);
        read = cpu();
        assert_within(read, 0.3, 0.03);
        bind(2, "a", "", 2, NOW);
        assert_near(cpu(), read + 2.0 / 10);
        bind(2, "a", "", 2, NOW); /* known already */
        assert_near(cpu(), read + 2.0 / 10);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 77, NOW + 1000);
        assert_near(cpu(), read);
        estimator_end(estimator, 1, NOW);
        assert_within(cpu(), 0.04, 0.01); /* it used more than it requests */
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

/* The last reading held the pod already, and took it for base. */
TEST_BETWEEN(start_that_is_known_late, set_up, tear_down) {
        read_cpu(0.5, NOW);
        bind(1, "a", "d/w", 1, TRACKED_NEVER);
        assert_near(cpu(), 0.5 + 0.1);
        changes = 0;
        bind(1, "a", "d/w", 1, TRACKED_NEVER);
        assert_int_equal(changes, 0);
        bind(1, "a", "d/w", 1, NOW - WINDOW_MS);
        assert_int_equal(changes, 1);
        assert_near(cpu(), 0.5);
}

/* Numbers are of one node each, and are used again. */
TEST_BETWEEN(numbers, set_up, tear_down) {
        struct estimator_node *b = estimator_node_hold(estimator, "b", 1, NULL);

        assert_int_equal(estimator_node_number(node), 0);
        assert_int_equal(estimator_node_number(b), 1);
        bind(1, "b", "", 1, NOW);
        estimator_node_release(estimator, b); /* its pod still names it */
        b = estimator_node_hold(estimator, "b", 1, NULL);
        assert_int_equal(estimator_node_number(b), 1);
        estimator_end(estimator, 1, NOW);
        estimator_node_release(estimator, b);
        struct estimator_node *c = estimator_node_hold(estimator, "c", 1, NULL);
        assert_int_equal(estimator_node_number(c), 1);
        estimator_node_release(estimator, c);
}

/* The number of a node that is gone is of none until it is used again. */
TEST_BETWEEN(free_numbers, set_up, tear_down) {
        enum { HELD, FREE, NEVER_USED };
        struct estimator_node *gone = estimator_node_hold(estimator, "gone", 4, &changes);

        estimator_node_release(estimator, gone);
        assert_null(estimator_tracked(estimator, FREE));
        assert_non_null(estimator_tracked(estimator, HELD));
        assert_null(estimator_tracked(estimator, NEVER_USED));
        bind(1, "a", "d/w", 4, NOW - WINDOW_MS);
        read_cpu(0.2, NOW);
        estimator_list_begins(estimator);
        bind(1, "a", "d/w", 4, NOW - WINDOW_MS);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(), 2 / 4.0);
        estimator_step(estimator, NOW);
        assert_near(factor(), 2 / 4.0);
        const struct estimator_noise noise = estimator_noise(estimator, ESTIMATE_CPU);
        assert_true(noise.median_ratio > 0);
        assert_near(noise.median_ratio, noise.largest_ratio);
        estimator_end(estimator, 1, NOW + 3000);
        estimator_set_back(estimator, 2000, NOW);
        assert_int_equal(estimator_tracked(estimator, HELD)->pods[0].gone_unix_ms, NOW + 1000);
        estimator_import_node(estimator, "gone", &(struct tracked_node){.base = {{1, 1}}});
        assert_null(estimator_tracked(estimator, FREE));
}

/* A pod that looks for a node counts nowhere, whether the estimate knows it or an import holds it.
 */
TEST_BETWEEN(leave_out, set_up, tear_down) {
        const struct estimator_pod bound = pod(1, "a", "d/w", 2, NOW - WINDOW_MS),
                                   elsewhere = pod(2, "b", "d/w", 2, NOW - WINDOW_MS);

        estimator_bind(estimator, &bound);
        assert_near(cpu(), 0.2);
        estimator_leave_out(estimator, &elsewhere, NOW);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(), 0);

        estimator_import_workload(estimator, &(struct workload_facts){.name = "d/w",
                                                                      .name_len = 3,
                                                                      .is_learned = true,
                                                                      .learned_cores = 1.5,
                                                                      .confidence = 1});
        estimator_import_node(estimator, "a",
                              &(struct tracked_node){.base = {{1, 0}},
                                                     .pods_used = {{4, GIB}},
                                                     .readings = {{.window_ms = WINDOW_MS}}});
        assert_near(cpu(), 0.5);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(), 0.35);
        estimator_leave_out(estimator, &bound, NOW);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(), 0.1); /* the base is not the pod's */
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
        struct estimator_node *last = estimator_node_hold(estimator, name, strlen(name), NULL);
        assert_null(last);
        estimator_node_release(estimator, last);
        estimator_end(estimator, 1, NOW); /* makes room */
        bind(MOST + 1, name, "", 1, NOW);
        last = estimator_node_hold(estimator, name, strlen(name), NULL);
        assert_non_null(last);
        estimator_node_release(estimator, last);
}

TEST_BETWEEN(learning, set_up, tear_down) {
        const struct pod_load request = {{1, GIB}};

        struct estimator_expectation expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 1);
        assert_false(expected.is_learned);
        assert_near(expected.confidence, 0);
        estimator_set_known_since(estimator, 0);
        for (int i = 0; i < 40; i++) { /* every pod of it uses a fifth of a core */
                int64_t at = NOW + (int64_t)i * 2 * WINDOW_MS;
                read_cpu(0.1 + 0.02 * i, at);
                bind((uint64_t)i + 1, "a", "d/w", 1, at + 1000);
        }
        expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_true(fabs(expected.load.of[ESTIMATE_CPU] - 0.2) < 0.02);
        assert_true(expected.is_learned);
        assert_true(expected.confidence < 1);
        for (int i = 0; i < 1000; i++)
                estimator_step(estimator, NOW + 78 * WINDOW_MS);
        struct estimator_stats stats;
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.workloads, 1);
        assert_within(stats.factor.ratio[ESTIMATE_CPU], 0.2, 0.03); /* and the base 1 core */
        expected = estimator_expect(estimator, "d/other", 7, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], stats.factor.ratio[ESTIMATE_CPU]);
        assert_near(expected.factor.ratio[ESTIMATE_CPU], stats.factor.ratio[ESTIMATE_CPU]);
        assert_false(expected.is_learned);
        /* A node that is not read has the base of those that are. */
        struct estimator_node *unread = estimator_node_hold(estimator, "b", 1, NULL);
        estimator_set_capacity(unread, &(struct pod_load){{100, 32.0 * GIB}});
        assert_within(cpu_of(unread), 0.1, 0.02);
        estimator_node_release(estimator, unread);
}

/* Pods that ran before the extender started: the first list says what they use together, and
 * nothing is learned of one workload from hearing of them. */
TEST_BETWEEN(start, set_up, tear_down) {
        const struct pod_load request = {{1, GIB}};
        read_cpu(0.4, NOW);
        estimator_list_begins(estimator);
        for (uint64_t id = 1; id <= 10; id++)
                bind(id, "a", "d/w", 1, NOW - 3600000 + (int64_t)id);
        assert_int_equal(changes, 10);
        estimator_list_ended(estimator, NOW, NOW);
        assert_int_equal(changes, 11); /* settled */
        assert_near(factor(), 4 / 10.0);
        assert_within(cpu(), 0.4, 0.01);
        bind(11, "a", "d/new", 1, NOW);
        assert_within(cpu(), 0.44, 0.01);
        read_cpu(0.4, NOW + 180000);
        struct estimator_expectation of = estimator_expect(estimator, "d/w", 3, &request);
        assert_false(of.is_learned);
        assert_near(of.load.of[ESTIMATE_CPU], 4 / 10.0);
        /* Another list settles nothing. */
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 180000, NOW + 180000);
        assert_near(factor(), 4 / 10.0);
}

/* Pods count for the part of the window in which they ran: those that were bound after it tell
 * nothing of what pods use. */
TEST_BETWEEN(start_amid_bindings, set_up, tear_down) {
        read_cpu(0.4, NOW);
        estimator_list_begins(estimator);
        bind(1, "a", "d/w", 1.6, NOW - 3600000);
        bind(2, "a", "d/w", 2, NOW - WINDOW_MS / 5);
        bind(3, "a", "d/w", 1, NOW);
        bind(4, "a", "d/w", 1, TRACKED_NEVER);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(), 4 / (1.6 + 2.0 / 5));
        assert_within(cpu(), 2 * (1.6 + 2 + 1 + 1) / 10, 0.01);
}

/* Of a stale reading, or of none, a list settles nothing. */
TEST_BETWEEN(start_without_readings, set_up, tear_down) {
        read_cpu(0.1, NOW - 2 * WINDOW_MS);
        estimator_list_begins(estimator);
        bind(1, "a", "d/w", 10, NOW - 3600000);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(), 1);
        estimator_step(estimator, NOW);
        assert_near(factor(), 1);
}

/* Most pods request nothing: the factor is of what they count as, not of the few requests. */
TEST_BETWEEN(without_requests, set_up, tear_down) {
        read_cpu(0.6, NOW);
        for (uint64_t id = 1; id <= 20; id++)
                bind(id, "a", "", 0, NOW - 3600000);
        bind(21, "a", "", 1, NOW - 3600000);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(), 6 / 3.0);
        double before = cpu();
        assert_within(before, 0.6, 0.01);
        bind(22, "a", "", 0, NOW);
        assert_near(cpu(), before + 2 * 0.1 / 10);
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
