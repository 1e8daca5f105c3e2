/* The estimate of a cluster: its pods against a model, and what nodes are said to use. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "extender/estimator/estimator.h"
#include "extender/estimator/pod_table.h"

#define NOW INT64_C(1784800000000)

enum { WINDOW_MS = 300000, GIB = 1 << 30 };

static uint64_t draw(void) {
        static uint64_t state = 42;

        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return state >> 33;
}

/* Few distinct low bits, so that entries collide and holes are filled across the array's end. */
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
                        assert_int_equal(entry->bound_unix_ms, (int64_t)i);
                        pod_table_remove(&table, entry);
                        count--;
                } else {
                        entry = pod_table_add(&table, id + (i << 48));
                        assert_non_null(entry);
                        entry->bound_unix_ms = (int64_t)i;
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

static void count_change(void *userdata, void *owner) {
        ++*(size_t *)owner;
}

static struct estimator_pod pod(uint64_t id, const char *node, const char *workload, double cores,
                                int64_t bound_unix_ms) {
        return (struct estimator_pod){
                .id = id,
                .node = node,
                .node_len = strlen(node),
                .workload = workload,
                .workload_len = strlen(workload),
                .request = {{cores, GIB}},
                .bound_unix_ms = bound_unix_ms,
        };
}

static void bind(struct estimator *estimator, uint64_t id, const char *node, const char *workload,
                 double cores, int64_t bound_unix_ms) {
        const struct estimator_pod bound = pod(id, node, workload, cores, bound_unix_ms);

        estimator_bind(estimator, &bound);
}

static void read_cpu(struct estimator *estimator, struct estimator_node *node, double ratio,
                     int64_t ends_unix_ms) {
        estimator_read(estimator, node, ESTIMATE_CPU,
                       &(struct inflight_reading){ratio, ends_unix_ms, WINDOW_MS});
}

static const int64_t both_read[ESTIMATE_RESOURCE_COUNT] = {WINDOW_MS, WINDOW_MS};

static double cpu(const struct estimator *estimator, const struct estimator_node *node,
                  int64_t now_unix_ms) {
        struct estimator_usage usage;

        estimator_usage(estimator, node, both_read, now_unix_ms, &usage);
        return usage.ratio[ESTIMATE_CPU];
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)

/* Node "a" with 10 cores. */
static struct estimator_node *hold_a(struct estimator *estimator) {
        static size_t changes;
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);

        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        return node;
}

/* Bindings and ends move the usage at once, and a reading that holds them makes it whole. */
TEST(usage) {
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);
        struct estimator_usage usage;

        bind(estimator, 1, "a", "", 1, NOW - WINDOW_MS - 1000); /* the reading holds it whole */
        assert_near(cpu(estimator, node, NOW), 0);              /* no capacity: nothing is known */
        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        assert_near(cpu(estimator, node, NOW), 0.1);
        read_cpu(estimator, node, 0.3, NOW);
        assert_near(cpu(estimator, node, NOW), 0.3);
        bind(estimator, 2, "a", "", 2, NOW);
        assert_near(cpu(estimator, node, NOW), 0.3 + 2.0 / 10);
        bind(estimator, 2, "a", "", 2, NOW); /* known already */
        assert_near(cpu(estimator, node, NOW), 0.5);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 2, NOW + 1000);
        estimator_end(estimator, 77, NOW + 1000);
        assert_near(cpu(estimator, node, NOW), 0.3);
        estimator_end(estimator, 1, NOW);
        assert_near(cpu(estimator, node, NOW), 0.3 - 0.1);
        assert_int_equal(changes, 4);

        estimator_usage(estimator, node, both_read, NOW, &usage);
        assert_int_equal(usage.until_unix_ms, NOW + INFLIGHT_MEMORY_MS);
        assert_near(usage.per_capacity[ESTIMATE_CPU], 0.1);
        estimator_usage(estimator, node, both_read, NOW + INFLIGHT_MEMORY_MS,
                        &usage); /* none is left */
        assert_near(usage.ratio[ESTIMATE_CPU], 0);
        assert_int_equal(usage.until_unix_ms, INT64_MAX);
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
                estimator_list_ended(estimator, NOW + round * 1000 + 500);
                estimator_stats(estimator, 0, &stats);
                assert_int_equal(stats.pods, listed);
                assert_int_equal(stats.ignored_pods, 0);
        }
        struct estimator_node *node = estimator_node_hold(estimator, "n1", 2, &changes);
        estimator_list_begins(estimator);
        estimator_list_ended(estimator, NOW + 60000);
        assert_true(changes > 0);
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.pods, 0);
        estimator_set_capacity(node, &(struct pod_load){{10, 32.0 * GIB}});
        estimator_usage(estimator, node, both_read, NOW, &usage);
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

TEST(learning) {
        const struct pod_load request = {{1, GIB}};
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        struct estimator_expectation expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], 1);
        assert_false(expected.is_learned);
        assert_near(expected.confidence, 0);
        for (int i = 0; i < 40; i++) { /* every pod of it uses a fifth of a core */
                int64_t at = NOW + (int64_t)i * 2 * WINDOW_MS;
                read_cpu(estimator, node, 0.1 + 0.02 * i, at);
                bind(estimator, (uint64_t)i + 1, "a", "d/w", 1, at + 1000);
        }
        expected = estimator_expect(estimator, "d/w", 3, &request);
        assert_true(fabs(expected.load.of[ESTIMATE_CPU] - 0.2) < 0.02);
        assert_true(expected.is_learned);
        assert_true(expected.confidence > 0.5 && expected.confidence < 1);
        for (int i = 0; i < 1000; i++)
                estimator_step(estimator, NOW + 78 * WINDOW_MS);
        struct estimator_stats stats;
        estimator_stats(estimator, 0, &stats);
        assert_int_equal(stats.workloads, 1);
        assert_near(stats.factor.ratio[ESTIMATE_CPU], (0.1 + 0.02 * 39) * 10 / 39);
        expected = estimator_expect(estimator, "d/other", 7, &request);
        assert_near(expected.load.of[ESTIMATE_CPU], stats.factor.ratio[ESTIMATE_CPU]);
        assert_near(expected.factor.ratio[ESTIMATE_CPU], stats.factor.ratio[ESTIMATE_CPU]);
        assert_false(expected.is_learned);
        estimator_node_release(estimator, node);
}

/* Pods that ran before the extender started: nothing is learned from hearing of them, and the
 * factor counts them from then on. */
TEST(start) {
        const struct pod_load request = {{1, GIB}};
        struct estimator_stats stats;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.4, NOW);
        for (uint64_t id = 1; id <= 10; id++)
                bind(estimator, id, "a", "d/w", 1, NOW - 3600000 + (int64_t)id);
        bind(estimator, 11, "a", "d/new", 1, NOW - WINDOW_MS / 2);
        for (int i = 0; i < 1000; i++)
                estimator_step(estimator, NOW);
        estimator_stats(estimator, 0, &stats);
        assert_near(stats.factor.ratio[ESTIMATE_CPU], 4 / 10.5);
        read_cpu(estimator, node, 0.4, NOW + 180000);
        assert_near(estimator_expect(estimator, "d/w", 3, &request).load.of[ESTIMATE_CPU],
                    4 / 10.5);
        estimator_node_release(estimator, node);
}

/* Most pods request nothing: the factor is of what they count as, not of the few requests. */
TEST(without_requests) {
        struct estimator_stats stats;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.6, NOW);
        for (uint64_t id = 1; id <= 20; id++)
                bind(estimator, id, "a", "", 0, NOW - 3600000);
        bind(estimator, 21, "a", "", 1, NOW - 3600000);
        for (int i = 0; i < 1000; i++)
                estimator_step(estimator, NOW);
        estimator_stats(estimator, 0, &stats);
        assert_near(stats.factor.ratio[ESTIMATE_CPU], 6 / 3.0);
        bind(estimator, 22, "a", "", 0, NOW);
        assert_near(cpu(estimator, node, NOW), 0.6 + 2 * 0.1 / 10);
        estimator_node_release(estimator, node);
}

TEST(reservations) {
        const struct pod_load load = {{1, GIB}};
        struct reservation got[RESERVATIONS_MAX];
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);

        estimator_reserve(estimator, 1, 5, &load, 1000);
        estimator_reserve(estimator, 2, 6, &load, 2000);
        assert_int_equal(estimator_reservations(estimator, 2, 2000, got), 1); /* not one's own */
        assert_int_equal(got[0].node_number, 5);
        estimator_reserve(estimator, 1, 7, &load, 3000); /* another try of the same pod */
        assert_int_equal(estimator_reservations(estimator, 9, 3000, got), 2);
        assert_int_equal(got[1].node_number, 7);
        assert_int_equal(estimator_reservations(estimator, 9, 2000 + ESTIMATOR_RESERVATION_MS, got),
                         1);
        bind(estimator, 1, "n", "", 1, NOW); /* seen: it counts as in flight from here on */
        assert_int_equal(estimator_reservations(estimator, 9, 3000, got), 0);
        for (uint64_t id = 100; id < 1000; id++)
                estimator_reserve(estimator, id, 1, &load, 4000);
        assert_int_equal(estimator_reservations(estimator, 0, 4000, got), RESERVATIONS_MAX);
        assert_int_equal(got[RESERVATIONS_MAX - 1].pod_id, 999);
}

static void bind_recent(struct estimator *estimator, uint64_t id, const char *node, double cores) {
        const struct estimator_pod bound = pod(id, node, "d/w", cores, NOW);

        estimator_bind_recent(estimator, &bound, NOW);
}

/* Return: the node's name; the list of its pods is in, and they request @cores */
static const char *sample_next(struct estimator *estimator, double cores, int64_t now_unix_ms,
                               int64_t *ret_wait_ms) {
        const struct estimator_node *node = estimator_sample_next(estimator, now_unix_ms,
                                                                  ret_wait_ms);
        struct estimator_sample sample = {0};

        if (!node)
                return NULL;
        estimator_sample_pod(&sample, &(struct pod_load){{cores / 2, GIB}});
        estimator_sample_pod(&sample, &(struct pod_load){{cores / 2, GIB}});
        estimator_sample_end(estimator, estimator_node_name(node),
                             strlen(estimator_node_name(node)), &sample, now_unix_ms);
        return estimator_node_name(node);
}

static double factor(struct estimator *estimator) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        return stats.factor.ratio[ESTIMATE_CPU];
}

/* With recent pods only, the factor comes from samples of nodes that have a reading. */
TEST(samples) {
        int64_t wait_ms;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);

        read_cpu(estimator, node, 0.2, NOW);
        bind_recent(estimator, 1, "a", 1);
        assert_near(cpu(estimator, node, NOW), 0.3);
        assert_string_equal(sample_next(estimator, 8, NOW, &wait_ms), "a");
        assert_int_equal(wait_ms, ESTIMATOR_SAMPLE_MS);
        assert_near(factor(estimator), (0.2 + 0.2) / (0.2 + 0.8));
        read_cpu(estimator, node, 0.2, NOW + 1); /* the same pod, with the factor */
        assert_near(cpu(estimator, node, NOW), 0.2 + 0.04 * (1 - 1.0 / WINDOW_MS));
        /* A reading that is not fresh says nothing of the pods of today. */
        assert_string_equal(sample_next(estimator, 1, NOW + 3 * WINDOW_MS, &wait_ms), "a");
        assert_near(factor(estimator), 0.4);
        estimator_sample_end(estimator, "gone", 4, &(struct estimator_sample){0}, NOW);
        estimator_node_release(estimator, node);
        assert_null(sample_next(estimator, 1, NOW, &wait_ms));
        assert_int_equal(wait_ms, ESTIMATOR_SAMPLE_MS);
}

/* With recent pods only, the end of a pod that finished is seen, once. */
TEST(recent_ends) {
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = hold_a(estimator);
        struct estimator_pod ended = pod(1, "a", "d/w", 1, NOW - 3600000);
        const struct estimator_pod late = pod(3, "a", "d/w", 1, NOW - 3600000);

        read_cpu(estimator, node, 0.5, NOW);
        estimator_end_recent(estimator, &late, false, NOW + 1000); /* perhaps long ago */
        assert_near(cpu(estimator, node, NOW), 0.5);
        for (int i = 0; i < 3; i++) /* what becomes of it then is no other end */
                estimator_end_recent(estimator, &ended, i == 0, NOW + 1000 * (1 + i));
        assert_near(cpu(estimator, node, NOW), 0.4);
        bind_recent(estimator, 2, "a", 2);
        assert_near(cpu(estimator, node, NOW), 0.6);
        ended = pod(2, "a", "d/w", 2, NOW);
        estimator_end_recent(estimator, &ended, false, NOW + 5000); /* it never ran */
        assert_near(cpu(estimator, node, NOW), 0.4);
        read_cpu(estimator, node, 0.4, NOW + 2 * WINDOW_MS);
        assert_near(cpu(estimator, node, NOW), 0.4);
        ended.node = "b";
        estimator_end_recent(estimator, &ended, true, NOW);
        estimator_node_release(estimator, node);
}

/* A node that is not read is listed soon, and every other time from then on. */
TEST(unread_nodes) {
        size_t changes = 0, of_b = 0;
        int64_t wait_ms;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *a = estimator_node_hold(estimator, "a", 1, &changes);
        struct estimator_node *b = estimator_node_hold(estimator, "b", 1, &changes);

        estimator_set_capacity(a, &(struct pod_load){{10, 32.0 * GIB}});
        estimator_set_capacity(b, &(struct pod_load){{10, 32.0 * GIB}});
        read_cpu(estimator, a, 0.2, NOW);
        bind_recent(estimator, 1, "b", 1);
        assert_near(cpu(estimator, b, NOW), 0); /* what else it has nobody knows */
        assert_string_equal(sample_next(estimator, 4, NOW, &wait_ms), "b");
        assert_int_equal(wait_ms, ESTIMATOR_SAMPLE_SOON_MS);
        assert_near(cpu(estimator, b, NOW), 0.4);
        bind_recent(estimator, 2, "b", 1);
        assert_near(cpu(estimator, b, NOW), 0.5);
        for (int i = 0; i < 100; i++) {
                of_b += sample_next(estimator, 2, NOW, &wait_ms)[0] == 'b';
                assert_int_equal(wait_ms, ESTIMATOR_SAMPLE_MS);
        }
        assert_int_equal(of_b, 50);
        /* Read at last: its usage is the reading, and the list is forgotten. */
        read_cpu(estimator, b, 0.7, NOW + WINDOW_MS);
        while (sample_next(estimator, 2, NOW + WINDOW_MS, &wait_ms)[0] == 'b')
                ;
        /* Hours later it is not read again: the reading counts until there is another list. */
        read_cpu(estimator, a, 0.2, NOW + INFLIGHT_MEMORY_MS);
        assert_near(cpu(estimator, b, NOW + 2 * INFLIGHT_MEMORY_MS), 0.7);
        const struct estimator_node *next = estimator_sample_next(
                estimator, NOW + INFLIGHT_MEMORY_MS, &wait_ms);
        assert_string_equal(estimator_node_name(next), "b");
        estimator_node_release(estimator, a);
        estimator_node_release(estimator, b);
}

/* Nodes of two pools, one after the other: the samples are of both, alike. */
TEST(samples_of_all_pools) {
        enum { NODES = 1000, SAMPLES = 100 };
        struct estimator_node *nodes[NODES];
        size_t changes = 0, of_second = 0;
        bool was_sampled[NODES] = {0};
        int64_t wait_ms;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);

        for (size_t i = 0; i < NODES; i++) {
                char name[16];
                int len = snprintf(name, sizeof(name), "n%zu", i);
                nodes[i] = estimator_node_hold(estimator, name, (size_t)len, &changes);
                estimator_set_capacity(nodes[i], &(struct pod_load){{10, 32.0 * GIB}});
                read_cpu(estimator, nodes[i], 0.2, NOW);
        }
        for (int i = 0; i < SAMPLES; i++) {
                size_t number = estimator_node_number(
                        estimator_sample_next(estimator, NOW, &wait_ms));
                assert_false(was_sampled[number]);
                was_sampled[number] = true;
                of_second += number >= NODES / 2;
        }
        assert_in_range(of_second, SAMPLES / 2 - 2, SAMPLES / 2 + 2);
        for (size_t i = 0; i < NODES; i++)
                estimator_node_release(estimator, nodes[i]);
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
                                               &(struct inflight_reading){0.5, at, WINDOW_MS});
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

        bind(estimator, 1, "a", "d/w", 0.5, NOW - WINDOW_MS);
        read_cpu(estimator, node, 0.3, NOW);
        estimator_end(estimator, 1, NOW);
        read_cpu(estimator, node, 0.1, NOW + WINDOW_MS);
        const struct pod_load request = {{0.5, GIB}};
        struct estimator_expectation of = estimator_expect(estimator, "d/w", 3, &request);
        assert_true(of.is_learned && of.load.of[ESTIMATE_CPU] > 1);
        estimator_node_release(estimator, node);
}

/* Nothing of this makes a node unusable: no usage below 0, none that is not finite. */
static void hold_hostile(bool is_recent) {
        static const double absurd[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e-300};
        size_t changes = 0;
        _cleanup_(estimator_freep) struct estimator *estimator = estimator_new(count_change, NULL);
        struct estimator_node *node = estimator_node_hold(estimator, "a", 1, &changes);
        struct estimator_node *other = estimator_node_hold(estimator, "b", 1, &changes);
        struct estimator_pod bound;
        int64_t wait_ms;

        for (uint64_t round = 1; round < 20000; round++) {
                double value = absurd[draw() % ARRAY_LEN(absurd)];
                int64_t at = draw() % 3 ? NOW + (int64_t)(draw() % 1000000) - 500000
                                        : (draw() % 2 ? INT64_C(1) << 60 : -(INT64_C(1) << 60));
                double cores = isfinite(value) && value > 0 ? fmin(value, 1e9) : 0;
                switch (draw() % 5) {
                case 0:
                        estimator_set_capacity(node, &(struct pod_load){{value, value}});
                        break;
                case 1:
                        bound = pod(1 + draw() % 500, "a", draw() % 2 ? "d/w" : "", cores, at);
                        if (is_recent)
                                estimator_bind_recent(estimator, &bound, NOW);
                        else
                                estimator_bind(estimator, &bound);
                        break;
                case 2:
                        bound = pod(1 + draw() % 500, "a", "", cores, at);
                        if (is_recent && draw() % 2)
                                estimator_end_recent(estimator, &bound, draw() % 2, at);
                        else if (is_recent)
                                (void)sample_next(estimator, cores, at, &wait_ms);
                        else
                                estimator_end(estimator, 1 + draw() % 500, at);
                        break;
                case 3:
                        read_cpu(estimator, node, (double)(draw() % 1000) / 100, at);
                        break;
                default:
                        if (!is_recent)
                                estimator_step(estimator, at);
                        break;
                }
                double used = cpu(estimator, node, NOW);
                assert_true(isfinite(used) && used >= 0);
                const struct pod_load load =
                        estimator_expect(estimator, "d/w", 3, &(struct pod_load){{1, 1}}).load;
                assert_true(isfinite(load.of[ESTIMATE_CPU]) && load.of[ESTIMATE_CPU] > 0);
        }
        estimator_node_release(estimator, node);
        estimator_node_release(estimator, other);
}

TEST(hostile) {
        hold_hostile(false);
        hold_hostile(true);
}
