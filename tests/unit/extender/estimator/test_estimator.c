/* The estimate of a cluster: its pods against a model, and what nodes are said to use. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "extender/estimator/estimator.h"
#include "extender/estimator/pod_table.h"

#define NOW INT64_C(1784800000000)

enum { WINDOW_MS = 300000, GIB = 1 << 30 };

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

TEST(pod_table_ceiling) {
        struct pod_table table = {0};

        for (uint64_t id = 1; id <= POD_TABLE_MAX; id++)
                if (!pod_table_add(&table, id))
                        fail_msg("no room for pod %d", (int)id);
        assert_null(pod_table_add(&table, POD_TABLE_MAX + 1));
        assert_null(pod_table_get(&table, POD_TABLE_MAX + 1));
        pod_table_remove(&table, pod_table_get(&table, 1));
        assert_non_null(pod_table_add(&table, POD_TABLE_MAX + 1));
        pod_table_done(&table);
}

static void count_change(void *userdata, void *owner) {
        ++*(size_t *)owner;
}

static struct estimator_pod pod(uint64_t id, const char *node, const char *workload, double cores,
                                int64_t runs_unix_ms) {
        return (struct estimator_pod){
                .id = id,
                .node = node,
                .node_len = strlen(node),
                .workload = workload,
                .workload_len = strlen(workload),
                .request = {{cores, GIB}},
                .runs_unix_ms = runs_unix_ms,
        };
}

static void bind(struct estimator *estimator, uint64_t id, const char *node, const char *workload,
                 double cores, int64_t runs_unix_ms) {
        const struct estimator_pod bound = pod(id, node, workload, cores, runs_unix_ms);

        estimator_bind(estimator, &bound);
}

static void read_cpu(struct estimator *estimator, struct estimator_node *node, double ratio,
                     int64_t ends_unix_ms) {
        estimator_read(
                estimator, node, ESTIMATE_CPU,
                &(struct tracked_reading){ratio, ends_unix_ms - WINDOW_MS, ends_unix_ms, WINDOW_MS},
                NULL);
}

static double cpu(const struct estimator *estimator, const struct estimator_node *node) {
        struct estimator_usage usage;

        estimator_usage(estimator, node, &usage);
        return usage.ratio[ESTIMATE_CPU];
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)
#define assert_within(a, b, error) assert_float_equal((float)(a), (float)(b), (float)(error))

/* Node "a" with 10 cores. */
static struct estimator_node *hold_a(struct estimator *estimator) {
        static size_t changes;
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        return node;
}

static double factor(struct estimator *estimator) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        return stats.factor.ratio[ESTIMATE_CPU];
}

/* An event with another request moves the usage once, however often it comes. */
TEST(resize) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        bind(estimator, 1, "a", "", 1, NOW);
        bind(estimator, 2, "a", "", 2, NOW);
        for (int i = 0; i < 2; i++) {
                bind(estimator, 1, "a", "", 3, NOW);
                assert_near(cpu(estimator, node), 0.5);
                assert_int_equal(changes, 3);
        }
        bind(estimator, 1, "a", "", 0, NOW); /* counts as 100m */
        assert_near(cpu(estimator, node), 0.21);
        estimator_end(estimator, 1, NOW);
        estimator_end(estimator, 2, NOW);
        assert_near(cpu(estimator, node), 0);
        estimator_node_release(estimator, node);
}

static void keep_request(void *userdata, const struct workload_facts *facts) {
        *(double *)userdata = facts->request_cores;
}

/* However many pods came and went, what the live ones request is what they request. */
TEST(many_that_came_and_went) {
        enum { GONE = 100000 };
        double request_cores = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        bind(estimator, 1, "a", "d/w", 0.1, TRACKED_NEVER);
        for (uint64_t id = 2; id < GONE; id++) {
                bind(estimator, id, "a", "d/w", 0.3, TRACKED_NEVER);
                estimator_end(estimator, id, NOW);
        }
        double requested = estimator_tracked(estimator, estimator_node_number(node))
                                   ->requested.of[ESTIMATE_CPU];
        assert_near(requested, 0.1);
        workload_set_each(estimator_workloads(estimator), keep_request, &request_cores);
        assert_near(request_cores, 0.1);
        estimator_node_release(estimator, node);
}

/* A pod that is bound to another node than before, by an API server that was restored from a
 * backup, is there and no longer here. */
TEST(bound_elsewhere) {
        static const char *const names[] = {"a", "b", "bb", "a"};
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *nodes[ARRAY_LEN(names)];
        struct estimator_stats stats;

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                nodes[i] = estimator_node_hold(estimator, names[i], strlen(names[i]), &changes);
                estimator_set_capacity(nodes[i], &(struct pod_load){{10, 32.0 * GIB}});
        }
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                bind(estimator, 1, names[i], "d/w", 1, NOW);
                for (size_t k = 0; k < ARRAY_LEN(names); k++)
                        assert_near(cpu(estimator, nodes[k]), nodes[k] == nodes[i] ? 0.1 : 0);
                estimator_stats(estimator, 0, &stats);
                assert_int_equal(stats.pods, 1);
        }
        assert_int_equal(changes, 2 * ARRAY_LEN(names) - 1);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                estimator_node_release(estimator, nodes[i]);
}

/* Bindings and ends move the usage at once; a reading is believed except for its noise. */
TEST(usage) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);
        struct estimator_usage usage;

        bind(estimator, 1, "a", "", 1, NOW - WINDOW_MS - 1000); /* the reading holds it whole */
        estimator_usage(estimator, node, &usage);
        assert_false(usage.is_known[ESTIMATE_CPU]); /* no capacity */
        assert_near(usage.ratio[ESTIMATE_CPU], 0);
        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        assert_near(cpu(estimator, node), 0.1);
        read_cpu(estimator, node, 0.3, NOW);
        double read = cpu(estimator, node);
        assert_within(read, 0.3, 0.005);
        read_cpu(estimator, node, 0.3, NOW); /* known already */
        assert_near(cpu(estimator, node), read);
        read_cpu(estimator, node, 0.4, NOW); /* of the same time, and another one */
        assert_true(cpu(estimator, node) > read + 0.05);
        read_cpu(estimator, node, 0.3, NOW);
        read = cpu(estimator, node);
        assert_within(read, 0.3, 0.03);
        bind(estimator, 2, "a", "", 2, NOW);
        assert_near(cpu(estimator, node), read + 2.0 / 10);
        bind(estimator, 2, "a", "", 2, NOW); /* known already */
        assert_near(cpu(estimator, node), read + 2.0 / 10);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 77, NOW + 1000);
        assert_near(cpu(estimator, node), read);
        estimator_end(estimator, 1, NOW);
        assert_within(cpu(estimator, node), 0.04, 0.01); /* it used more than it requests */
        assert_int_equal(changes, 4);

        estimator_usage(estimator, node, &usage);
        assert_true(usage.is_known[ESTIMATE_CPU] && !usage.is_known[ESTIMATE_MEM]);
        assert_near(usage.per_capacity[ESTIMATE_CPU], 0.1);
        /* Of another capacity the reading says nothing. */
        assert_true(estimator_set_capacity(node, &(struct pod_load){{20, 32.0 * GIB}}));
        assert_false(estimator_set_capacity(node, &(struct pod_load){{20, 32.0 * GIB}}));
        estimator_usage(estimator, node, &usage);
        assert_false(usage.is_known[ESTIMATE_CPU]);
        estimator_node_release(estimator, node);
}

/* A pod that pulls its image counts whole; from its start on the readings hold it. */
TEST(pods_that_start_later) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);
        int64_t at = NOW;

        read_cpu(estimator, node, 0.2, at);
        double before = cpu(estimator, node);
        bind(estimator, 1, "a", "d/w", 3, TRACKED_NEVER);
        for (int i = 0; i < 5; i++)
                read_cpu(estimator, node, 0.2, at += WINDOW_MS);
        bind(estimator, 1, "a", "d/w", 3, TRACKED_NEVER);
        assert_within(cpu(estimator, node), before + 0.3, 0.01);
        bind(estimator, 1, "a", "d/w", 3, at);
        bind(estimator, 1, "a", "d/w", 3, TRACKED_NEVER); /* it does not stop */
        for (int i = 0; i < 3; i++)
                read_cpu(estimator, node, 0.3, at += WINDOW_MS);
        assert_within(cpu(estimator, node), 0.3, 0.02);
        estimator_node_release(estimator, node);
}

/* The last reading held the pod already, and took it for base. */
TEST(start_that_is_known_late) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        read_cpu(estimator, node, 0.5, NOW);
        bind(estimator, 1, "a", "d/w", 1, TRACKED_NEVER);
        assert_near(cpu(estimator, node), 0.5 + 0.1);
        changes = 0;
        bind(estimator, 1, "a", "d/w", 1, TRACKED_NEVER);
        assert_int_equal(changes, 0);
        bind(estimator, 1, "a", "d/w", 1, NOW - WINDOW_MS);
        assert_int_equal(changes, 1);
        assert_near(cpu(estimator, node), 0.5);
        estimator_node_release(estimator, node);
}

/* A list takes the place of what was known: pods that it does not show are gone. */
TEST(lists) {
        size_t changes = 0;
        struct estimator_usage usage;
        struct estimator_stats stats;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);

        for (int round = 0; round < 50; round++) {
                size_t listed = 0;
                estimator_list_begins(estimator);
                for (uint64_t id = 1; id <= 200; id++) {
                        char node[16], workload[16];
                        if (draw() % 2)
                                continue;
                        (void)snprintf(node, sizeof(node), "n%u", (unsigned)(id % 7));
                        (void)snprintf(workload, sizeof(workload), "d/Job/%u", (unsigned)(id % 3));
                        bind(estimator, id, node, workload, 0.1, NOW + round * 1000);
                        listed++;
                }
                estimator_list_ended(estimator, NOW + round * 1000 + 500, NOW + round * 1000 + 500);
                estimator_stats(estimator, 0, &stats);
                assert_int_equal(stats.pods, listed);
        }
        struct estimator_node *node = estimator_node_hold(estimator, "n1", 2, &changes);
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 60000, NOW + 60000);
        assert_true(changes > 0);
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, 0);
        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        estimator_usage(estimator, node, &usage);
        assert_true(usage.is_known[ESTIMATE_CPU] && usage.is_known[ESTIMATE_MEM]);
        assert_near(usage.ratio[ESTIMATE_CPU], 0);
        estimator_node_release(estimator, node);
}

/* Numbers are of one node each, and are used again. */
TEST(numbers) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *a = estimator_node_hold(estimator, "a", 1, &changes);
        struct estimator_node *b = estimator_node_hold(estimator, "b", 1, &changes);

        assert_int_equal(estimator_node_number(a), 0);
        assert_int_equal(estimator_node_number(b), 1);
        bind(estimator, 1, "a", "", 1, NOW);
        estimator_node_release(estimator, a); /* its pod still names it */
        a = estimator_node_hold(estimator, "a", 1, &changes);
        assert_int_equal(estimator_node_number(a), 0);
        estimator_node_release(estimator, b);
        struct estimator_node *c = estimator_node_hold(estimator, "c", 1, &changes);
        assert_int_equal(estimator_node_number(c), 1);
        estimator_node_release(estimator, a);
        estimator_node_release(estimator, c);
}

/* The number of a node that is gone is of none until it is used again. */
TEST(free_numbers) {
        enum { FREE, HELD, NEVER_USED };
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *gone = estimator_node_hold(estimator, "gone", 4, &changes);
        struct estimator_node *node = hold_a(estimator);

        estimator_node_release(estimator, gone);
        assert_null(estimator_tracked(estimator, FREE));
        assert_non_null(estimator_tracked(estimator, HELD));
        assert_null(estimator_tracked(estimator, NEVER_USED));
        bind(estimator, 1, "a", "d/w", 4, NOW - WINDOW_MS);
        read_cpu(estimator, node, 0.2, NOW);
        estimator_list_begins(estimator);
        bind(estimator, 1, "a", "d/w", 4, NOW - WINDOW_MS);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(estimator), 2 / 4.0);
        estimator_step(estimator, NOW);
        assert_near(factor(estimator), 2 / 4.0);
        const struct estimator_noise noise = estimator_noise(estimator, ESTIMATE_CPU);
        assert_true(noise.median_ratio > 0);
        assert_near(noise.median_ratio, noise.largest_ratio);
        estimator_end(estimator, 1, NOW + 3000);
        estimator_set_back(estimator, 2000, NOW);
        assert_int_equal(estimator_tracked(estimator, HELD)->pods[0].gone_unix_ms, NOW + 1000);
        estimator_import_node(estimator, "gone", &(struct tracked_node){.base = {{1, 1}}});
        assert_null(estimator_tracked(estimator, FREE));
        estimator_node_release(estimator, node);
}

/* A pod that looks for a node counts nowhere, whether the estimate knows it or an import holds it.
 */
TEST(leave_out) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);
        const struct estimator_pod bound = pod(1, "a", "d/w", 2, NOW - WINDOW_MS),
                                   elsewhere = pod(2, "b", "d/w", 2, NOW - WINDOW_MS);

        estimator_bind(estimator, &bound);
        assert_near(cpu(estimator, node), 0.2);
        estimator_leave_out(estimator, &elsewhere, NOW);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(estimator, node), 0);

        estimator_import_workload(estimator, &(struct workload_facts){.name = "d/w",
                                                                      .name_len = 3,
                                                                      .is_learned = true,
                                                                      .learned_cores = 1.5,
                                                                      .confidence = 1});
        estimator_import_node(estimator, "a",
                              &(struct tracked_node){.base = {{1, 0}},
                                                     .pods_used = {{4, GIB}},
                                                     .readings = {{.window_ms = WINDOW_MS}}});
        assert_near(cpu(estimator, node), 0.5);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(estimator, node), 0.35);
        estimator_leave_out(estimator, &bound, NOW);
        estimator_leave_out(estimator, &bound, NOW);
        assert_near(cpu(estimator, node), 0.1); /* the base is not the pod's */
        estimator_node_release(estimator, node);
}

/* Of more nodes than there may be nothing is known, as if they were not there. */
TEST(too_many_nodes) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_stats stats;
        char name[16];

        for (uint64_t i = 1; i <= ESTIMATOR_MAX_NODES + 1; i++) {
                (void)snprintf(name, sizeof(name), "n%d", (int)i);
                bind(estimator, i, name, "", 1, NOW);
        }
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, ESTIMATOR_MAX_NODES);
        struct estimator_node *node = estimator_node_hold(estimator, name, strlen(name), &changes);
        assert_null(node);
        estimator_node_release(estimator, node);
        estimator_end(estimator, 1, NOW); /* makes room */
        bind(estimator, ESTIMATOR_MAX_NODES + 1, name, "", 1, NOW);
        node = estimator_node_hold(estimator, name, strlen(name), &changes);
        assert_non_null(node);
        estimator_node_release(estimator, node);
}

TEST(learning) {
        const struct pod_load request = {{1, GIB}};
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        struct estimator_expectation expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 1);
        assert_false(expected.is_learned);
        assert_near(expected.confidence, 0);
        estimator_set_known_since(estimator, 0);
        for (int i = 0; i < 40; i++) { /* every pod of it uses a fifth of a core */
                int64_t at = NOW + (int64_t)i * 2 * WINDOW_MS;
                read_cpu(estimator, node, 0.1 + 0.02 * i, at);
                bind(estimator, (uint64_t)i + 1, "a", "d/w", 1, at + 1000);
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
        assert_within(cpu(estimator, unread), 0.1, 0.02);
        estimator_node_release(estimator, unread);
        estimator_node_release(estimator, node);
}

/* Pods that ran before the extender started: the first list says what they use together, and
 * nothing is learned of one workload from hearing of them. */
TEST(start) {
        const struct pod_load request = {{1, GIB}};
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        read_cpu(estimator, node, 0.4, NOW);
        estimator_list_begins(estimator);
        for (uint64_t id = 1; id <= 10; id++)
                bind(estimator, id, "a", "d/w", 1, NOW - 3600000 + (int64_t)id);
        assert_int_equal(changes, 10);
        estimator_list_ended(estimator, NOW, NOW);
        assert_int_equal(changes, 11); /* settled */
        assert_near(factor(estimator), 4 / 10.0);
        assert_within(cpu(estimator, node), 0.4, 0.01);
        bind(estimator, 11, "a", "d/new", 1, NOW);
        assert_within(cpu(estimator, node), 0.44, 0.01);
        read_cpu(estimator, node, 0.4, NOW + 180000);
        struct estimator_expectation of = estimator_expect(estimator, "d/w", 3, &request);
        assert_false(of.is_learned);
        assert_near(of.load.of[ESTIMATE_CPU], 4 / 10.0);
        /* Another list settles nothing. */
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 180000, NOW + 180000);
        assert_near(factor(estimator), 4 / 10.0);
        estimator_node_release(estimator, node);
}

/* Pods count for the part of the window in which they ran: those that were bound after it tell
 * nothing of what pods use. */
TEST(start_amid_bindings) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.4, NOW);
        estimator_list_begins(estimator);
        bind(estimator, 1, "a", "d/w", 1.6, NOW - 3600000);
        bind(estimator, 2, "a", "d/w", 2, NOW - WINDOW_MS / 5);
        bind(estimator, 3, "a", "d/w", 1, NOW);
        bind(estimator, 4, "a", "d/w", 1, TRACKED_NEVER);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(estimator), 4 / (1.6 + 2.0 / 5));
        assert_within(cpu(estimator, node), 2 * (1.6 + 2 + 1 + 1) / 10, 0.01);
        estimator_node_release(estimator, node);
}

/* Of a stale reading, or of none, a list settles nothing. */
TEST(start_without_readings) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.1, NOW - 2 * WINDOW_MS);
        estimator_list_begins(estimator);
        bind(estimator, 1, "a", "d/w", 10, NOW - 3600000);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(estimator), 1);
        estimator_step(estimator, NOW);
        assert_near(factor(estimator), 1);
        estimator_node_release(estimator, node);
}

/* While the watch was away most pods ended: they ended as it began to be, so the reading since then
 * holds none of them, and teaches nothing. */
TEST(gap) {
        enum { PODS = 11, GONE = 6 };
        const struct pod_load request = {{0.5, GIB}};
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);
        int64_t back = NOW + 900000;

        for (uint64_t id = 1; id <= PODS; id++)
                bind(estimator, id, "a", "d/w", 0.5, NOW - 3600000);
        read_cpu(estimator, node, 0.05 * PODS, NOW);
        read_cpu(estimator, node, 0.05 * (PODS - GONE), back - 1000);
        estimator_list_begins(estimator);
        for (uint64_t id = GONE + 1; id <= PODS; id++)
                bind(estimator, id, "a", "d/w", 0.5, NOW - 3600000);
        estimator_list_ended(estimator, NOW + 1000, back);
        read_cpu(estimator, node, 0.05 * (PODS - GONE), back + 180000);
        assert_within(cpu(estimator, node), 0.05 * (PODS - GONE), 0.01);
        assert_false(estimator_expect(estimator, "d/w", 3, &request).is_learned);
        estimator_node_release(estimator, node);
}

/* Most pods request nothing: the factor is of what they count as, not of the few requests. */
TEST(without_requests) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.6, NOW);
        for (uint64_t id = 1; id <= 20; id++)
                bind(estimator, id, "a", "", 0, NOW - 3600000);
        bind(estimator, 21, "a", "", 1, NOW - 3600000);
        estimator_list_ended(estimator, NOW, NOW);
        assert_near(factor(estimator), 6 / 3.0);
        double before = cpu(estimator, node);
        assert_within(before, 0.6, 0.01);
        bind(estimator, 22, "a", "", 0, NOW);
        assert_near(cpu(estimator, node), before + 2 * 0.1 / 10);
        estimator_node_release(estimator, node);
}

TEST(reservations) {
        const struct pod_load load = {{1, GIB}};
        const struct reservation_pod bound = {.id = 1}, next = {.id = 2};
        struct reservation got[RESERVATIONS_MAX];
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);

        estimator_published(estimator, 1);
        estimator_reserve(estimator, &bound, 5, &load, 1000);
        assert_int_equal(estimator_reservations(estimator, &next, 1, 1000, got), 1);
        assert_int_equal(got[0].node_number, 5);
        assert_int_equal(estimator_reservations(estimator, &next, 1, 1000 + RESERVATION_MS, got),
                         0);
        estimator_reserve(estimator, &bound, 5, &load, 2000);
        bind(estimator, 1, "elsewhere", "", 1, NOW); /* seen: it counts by itself from here on */
        assert_int_equal(estimator_reservations(estimator, &next, 1, 2000, got), 0);
        struct estimator_node *node = hold_a(estimator);
        estimator_reserve(estimator, &next, estimator_node_number(node), &load, 2000);
        bind(estimator, 2, "a", "", 1, NOW);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 1);
        estimator_published(estimator, 2);
        assert_int_equal(estimator_reservations(estimator, &bound, 2, 2000, got), 0);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 1);
        estimator_published(estimator, 3);
        assert_int_equal(estimator_reservations(estimator, &bound, 1, 2000, got), 0);
        estimator_node_release(estimator, node);
}

/* Jobs one after the other, each an owner of its own: what is kept is of those that run and those
 * that have just ended, whatever is read of the node. */
TEST(jobs) {
        enum { JOBS = 120000, LIFE_S = 10, KEPT_S = 900, KEPT_MAX = 4 * KEPT_S / LIFE_S };
        enum { NOTHING, MEMORY, CPU_ONCE, READINGS };

        for (int kind = 0; kind < READINGS; kind++) {
                size_t changes = 0;
                _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change,
                                                                                       NULL);
                struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);
                struct estimator_stats stats;
                char name[32];

                for (uint64_t i = 0; i < JOBS; i++) {
                        int64_t at = NOW + (int64_t)i * LIFE_S * 1000;
                        if (kind == MEMORY && i % 18 == 0)
                                estimator_read(estimator, node, ESTIMATE_MEM,
                                               &(struct tracked_reading){0.5, at - WINDOW_MS, at,
                                                                         WINDOW_MS},
                                               NULL);
                        if (kind == CPU_ONCE && i == 18)
                                read_cpu(estimator, node, 0.5, at);
                        (void)snprintf(name, sizeof(name), "d/Job/%d", (int)i);
                        bind(estimator, i + 1, "a", name, 1, at);
                        estimator_end(estimator, i + 1, at + LIFE_S * 1000);
                        estimator_stats(estimator, 0, &stats);
                        assert_true(stats.workloads <= KEPT_MAX);
                }
                estimator_node_release(estimator, node);
        }
}

/* The only pod of a workload ends between two readings: the second teaches what it used. */
TEST(last_pod) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        estimator_set_known_since(estimator, 0);
        bind(estimator, 1, "a", "d/w", 0.5, NOW - WINDOW_MS);
        read_cpu(estimator, node, 0.3, NOW);
        estimator_end(estimator, 1, NOW);
        read_cpu(estimator, node, 0.1, NOW + WINDOW_MS);
        const struct pod_load request = {{0.5, GIB}};
        struct estimator_expectation of = estimator_expect(estimator, "d/w", 3, &request);
        assert_true(of.is_learned && of.load.of[ESTIMATE_CPU] > 1);
        estimator_node_release(estimator, node);
}

/* A node that is made again, while a pod of the old one is still there, may be another machine:
 * what was read of the old one holds no more. */
TEST(made_again) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.9, NOW);
        bind(estimator, 1, "a", "d/w", 0.5, NOW);
        assert_within(cpu(estimator, node), 0.95, 0.01);
        estimator_node_release(estimator, node);
        node = hold_a(estimator);
        assert_within(cpu(estimator, node), 0.05, 0.01);
        read_cpu(estimator, node, 0.1, NOW + WINDOW_MS);
        assert_within(cpu(estimator, node), 0.1, 0.01);
        estimator_node_release(estimator, node);
}

/* Nothing of this makes a node unusable: no usage below 0, none that is not finite. */
TEST(hostile) {
        static const double absurd[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e-300};
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        for (uint64_t round = 1; round < 20000; round++) {
                double value = absurd[draw() % ARRAY_LEN(absurd)];
                int64_t at = draw() % 3 ? NOW + (int64_t)(draw() % 1000000) - 500000
                                        : (draw() % 2 ? INT64_C(1) << 60 : -(INT64_C(1) << 60));
                double cores = isfinite(value) && value > 0 ? fmin(value, 1e9) : 0;
                switch (draw() % 6) {
                case 0:
                        estimator_set_capacity(node, &(struct pod_load){{value, value}});
                        break;
                case 1:
                        bind(estimator, 1 + draw() % 500, "a", draw() % 2 ? "d/w" : "", cores,
                             draw() % 4 ? at : TRACKED_NEVER);
                        break;
                case 2:
                        estimator_end(estimator, 1 + draw() % 500, at);
                        break;
                case 3:
                        read_cpu(estimator, node, (double)(draw() % 1000) / 100, at);
                        break;
                case 4:
                        estimator_list_ended(estimator, at, at);
                        break;
                default:
                        estimator_step(estimator, at);
                        break;
                }
                double used = cpu(estimator, node);
                assert_true(isfinite(used) && used >= 0);
                const struct pod_load load =
                        estimator_expect(estimator, "d/w", 3, &(struct pod_load){{1, 1}}).load;
                assert_true(isfinite(load.of[ESTIMATE_CPU]) && load.of[ESTIMATE_CPU] > 0);
        }
        estimator_node_release(estimator, node);
}
