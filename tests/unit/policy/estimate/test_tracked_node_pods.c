/* What a node keeps of its pods: their workloads, for how long, and how little is known of them. */
#include "tests/unit/policy/estimate/one_tracked_node.h"

static void keep(void *userdata, const struct workload_facts *facts) {
        *(struct workload_facts *)userdata = *facts;
}

static struct workload_facts facts_of(const struct fixture *fixture) {
        struct workload_facts facts = {0};

        workload_set_each(fixture->workloads, keep, &facts);
        return facts;
}

TEST(counted_in_their_workload) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, "d/w", 1, 1000000);
        bind_pod(&fixture, 2, "d/w", 2, 1000000);
        assert_int_equal(facts_of(&fixture).pods, 2);
        assert_true(facts_of(&fixture).request_cores == 1.5);
        end_pod(&fixture, 1, 1, 1000000);
        assert_int_equal(facts_of(&fixture).pods, 1);
        assert_true(facts_of(&fixture).request_cores == 2);
}

/* A workload of which nothing was learned goes with its last pod, and that with the node. */
TEST(let_go) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, "d/w", 1, TRACKED_NEVER);
        assert_int_equal(workload_set_count(fixture.workloads), 1);
        end_pod(&fixture, 1, 1, 1000000);
        assert_int_equal(workload_set_count(fixture.workloads), 0);
        bind_pod(&fixture, 2, "d/w", 1, 1000000);
        tracked_node_done(&fixture.node, fixture.workloads);
        assert_int_equal(workload_set_count(fixture.workloads), 0);
        assert_int_equal(fixture.node.pod_count, 0);
}

static void read_memory(struct fixture *fixture, int64_t ends_unix_ms) {
        const struct tracked_reading reading = {.ratio = 0.5,
                                                .begins_unix_ms = ends_unix_ms - WINDOW_MS,
                                                .ends_unix_ms = ends_unix_ms,
                                                .window_ms = WINDOW_MS};

        tracked_node_read(&fixture->node, fixture->workloads, ESTIMATE_MEM, &reading, NULL, &whole);
}

/* A pod that is gone is kept until no window holds it: not the last one of each resource, nor the
 * one before it of CPU. A resource that was never read may still hold it. */
TEST(kept_while_a_window_holds_it) {
        for (int has_memory = 0; has_memory < 2; has_memory++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t gone = 1000000, now = gone;
                bind_pod(&fixture, 1, NULL, 1, 0);
                read_cores(&fixture, 2, now);
                if (has_memory)
                        read_memory(&fixture, now);
                end_pod(&fixture, 1, 1, gone);
                for (int i = 1; i < 8; i++) {
                        now += SYNC_MS;
                        if (has_memory)
                                read_memory(&fixture, now);
                        read_cores(&fixture, 1, now);
                        int64_t kept_ms = has_memory ? WINDOW_MS : TRACKED_UNREAD_MS;
                        bool is_kept = now - gone <= kept_ms;
                        if (fixture.node.pod_count != is_kept)
                                fail_msg("memory %d, reading %d: %zu", has_memory, i,
                                         fixture.node.pod_count);
                }
        }
}

/* A pod is known to have started when readings have held it for long: what it uses was taken for
 * base, and its workload is not taught that nothing came with it. */
TEST(start_that_is_known_late) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        int64_t now = 1000000;

        for (int i = 0; i < 20; i++, now += SYNC_MS)
                read_cores(&fixture, 6, now);
        bind_pod(&fixture, 1, "d/w", 2, TRACKED_NEVER);
        assert_float_equal(used_cores(&fixture), 8, 0.2);
        assert_true(tracked_node_start(&fixture.node, 1, 0));
        assert_float_equal(base_cores(&fixture), 4, 0.2);
        assert_float_equal(used_cores(&fixture), 6, 0.2);
        read_cores(&fixture, 6, now);
        assert_false(workload_is_learned(workload_set_find(fixture.workloads, "d/w", 3)));
}

/* How far a resize moves what is expected is how little is known of it then. */
TEST(less_is_known_after_a_resize) {
        static const struct {
                double from, to, before, after; /* cores requested, then variance */
        } rows[] = {
                {2, 4, 0.01, 4},
                {2, 4, 5, 5},
                {4, 1, 0.01, 9},
                {2, 2, 0.01, 0.01},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                const struct pod_load from = request_of(rows[i].from), to = request_of(rows[i].to);
                bind_pod(&fixture, 1, NULL, rows[i].from, 0);
                fixture.node.pods[0].variance[ESTIMATE_CPU] = (float)rows[i].before;
                tracked_node_resize(&fixture.node, 1, &from, &to, &whole);
                assert_float_equal(fixture.node.pods[0].variance[ESTIMATE_CPU],
                                   (float)rows[i].after, 1e-5);
        }
}

/* When all pods are known, a node goes on as one that knew them before its only reading. */
TEST(begun_again) {
        static const struct cluster_load busy = {{{1, 1}}, {1.0 / 64}};
        struct fixture early = begin_fixture(), late = begin_fixture();
        struct fixture *const both[] = {&early, &late};
        int64_t now = 1000000;

        bind_pod(&early, 1, NULL, 2, 0);
        bind_pod(&early, 2, NULL, 1, 0);
        for (int i = 0; i < 5; i++) /* of these, little is left to learn */
                read_cores(&late, 5 + i % 2, now - (10 - i) * (int64_t)SYNC_MS);
        bind_pod(&late, 1, NULL, 2, 0);
        bind_pod(&late, 2, NULL, 1, 0);
        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
                const struct tracked_reading reading = {7 / CORES, now - WINDOW_MS, now, WINDOW_MS};
                both[i]->node.readings[ESTIMATE_CPU] = reading;
                tracked_node_begin_again(&both[i]->node, &busy);
                assert_float_equal(used_cores(both[i]), 7, 1e-5);
        }
        assert_true(base_cores(&early) > 1 && base_cores(&early) < 7);
        assert_float_equal((float)base_cores(&late), (float)base_cores(&early), 1e-5);
        for (size_t i = 0; i < ARRAY_LEN(both); i++)
                read_cores(both[i], 4, now + SYNC_MS);
        assert_float_equal((float)used_cores(&late), (float)used_cores(&early), 1e-5);
        end_fixture(&early);
        end_fixture(&late);
}

TEST(node_of_one_core) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        fixture.node.capacity.of[ESTIMATE_CPU] = 1;
        bind_pod(&fixture, 1, NULL, 0.5, TRACKED_NEVER);
        assert_float_equal((float)tracked_node_usage_ratio(&fixture.node, ESTIMATE_CPU, &whole),
                           0.5, 1e-6);
        assert_true(tracked_node_margin_ratio(&fixture.node, ESTIMATE_CPU) > 0);
}
