/* Pods that start late, come in gangs, belong to nobody, request nothing, or use something else
 * from some time on. */
#include "paper_world.h"

#include <math.h>

#include "usage.h"

enum { HOUR_S = 3600 };

struct heard {
        size_t bound, started, ended;
};

static void on_bound(void *userdata, struct pod *pod) {
        struct heard *heard = userdata;

        assert_true(pod->bound_s >= 0);
        heard->bound++;
}

static void on_started(void *userdata, struct pod *pod) {
        struct heard *heard = userdata;

        assert_true(pod->starts_s >= pod->bound_s);
        heard->started++;
}

static void on_ended(void *userdata, struct pod *pod) {
        struct heard *heard = userdata;

        assert_true(pod->has_ended);
        heard->ended++;
}

static struct world *listen_to(const struct scenario *scenario, struct heard *heard) {
        struct world *world = world_new(scenario, 1);

        world->listener = (struct world_listener){on_bound, on_started, on_ended, heard};
        return world;
}

static void pass(struct world *world, int64_t until_s) {
        while (world->now_s < until_s)
                world_step(world);
}

TEST(a_pod_uses_nothing_until_it_starts) {
        const struct scenario scenario = paper_scenario(
                1, 16,
                "{kind: burst, workloads: 1, requests: [1], life: {from: 60s, to: 60s}, usage: "
                "{share: 1}, burst: {pods: 1}, start: {from: 3m, to: 6m}, memory: {share: 1}}");
        struct heard heard = {0};
        _cleanup_(world_freep) struct world *world = listen_to(&scenario, &heard);
        struct pod *pod = &world->pods[0];

        pass(world, 10);
        world_place(world, pod, 0);
        assert_int_equal(heard.bound, 1);
        assert_int_equal(pod->bound_s, 10);
        assert_in_range(pod->starts_s, 10 + 180, 10 + 360);
        pass(world, pod->starts_s - 1);
        assert_true(world_is_running(world, pod) && heard.started == 0);
        assert_true(world->nodes[0].demand_cores == 0 && world->nodes[0].used_bytes == 0);
        assert_true(world_mean_ratio(world, 0) > 0); /* it is to come */
        pass(world, pod->starts_s);
        assert_int_equal(heard.started, 1);
        assert_true(world->nodes[0].demand_cores > 0);
        assert_true(pod->now_cores == world->nodes[0].demand_cores);
        assert_true(world->nodes[0].used_bytes == pod->request_bytes);
        pass(world, pod->starts_s + 60);
        assert_int_equal(heard.ended, 0);
        pass(world, pod->starts_s + 61);
        assert_int_equal(heard.ended, 1);
        assert_true(pod->now_cores == 0);
        assert_true(fabs(world->nodes[0].demand_cores) < 1e-9);
}

TEST(a_gang_is_bound_at_once) {
        const struct scenario scenario = paper_scenario(
                1, 64,
                "{kind: jobs, workloads: 1, requests: [2], life: {mean: 1h}, usage: {share: 1}, "
                "jobs: {every: 24h, gang: true, fromCores: 6, toCores: 6}}");
        struct heard heard = {0};
        _cleanup_(world_freep) struct world *world = listen_to(&scenario, &heard);

        pass(world, 5);
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(world->pods[i].gang, 1);
                assert_int_equal(world->pods[i].arrives_s, world->pods[0].arrives_s);
                assert_int_equal(heard.bound, 0);
                world_place(world, &world->pods[i], 0);
                assert_int_equal(world->nodes[0].requested.milli_cores, 2000 * (int64_t)(i + 1));
                assert_int_equal(world_is_running(world, &world->pods[0]), i == 2);
                pass(world, world->now_s + 60);
        }
        assert_int_equal(heard.bound, 3);
        assert_int_equal(world->pods[0].bound_s, 125);
}

TEST(the_hour_of_the_day) {
        const struct scenario scenario = paper_scenario(
                1, 16,
                "{kind: burst, workloads: 1, requests: [1], life: {mean: 48h}, usage: {share: 1}, "
                "burst: {pods: 1}, noise: {sigma: 0, every: 24h}, "
                "hours: {from: 12h, to: 16h, factor: 3}}");
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        struct pod pod = world->pods[0];
        static const struct {
                int64_t at_s;
                double factor;
                int64_t next_s;
        } rows[] = {
                {60, 1, 12 * HOUR_S},          {12 * HOUR_S - 1, 1, 12 * HOUR_S},
                {12 * HOUR_S, 3, 16 * HOUR_S}, {16 * HOUR_S - 1, 3, 16 * HOUR_S},
                {16 * HOUR_S, 1, 24 * HOUR_S}, /* the noise */
                {25 * HOUR_S, 1, 36 * HOUR_S}, {37 * HOUR_S, 3, 40 * HOUR_S},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_true(fabs(usage_cores_at(&pod, rows[i].at_s) - rows[i].factor * pod.cores) <
                            1e-9);
                assert_int_equal(usage_next_change_s(&pod, rows[i].at_s), rows[i].next_s);
        }
}

static double mean_share(const struct world *world, int64_t from_s, int64_t to_s, uint32_t parity) {
        double cores = 0, requests = 0;

        for (size_t i = 0; i < world->pod_count; i++) {
                const struct pod *pod = &world->pods[i];
                if (pod->arrives_s < from_s || pod->arrives_s >= to_s ||
                    pod->workload % 2 != parity)
                        continue;
                cores += pod->cores;
                requests += pod->request_cores;
        }
        return cores / requests;
}

TEST(a_release) {
        const struct scenario scenario = paper_scenario(
                100, 16,
                "{kind: steady, workloads: 4, requests: [1], requested: 0.5, life: {mean: 1h}, "
                "usage: {share: 0.5}, release: {at: 12h, factor: 2, every: 2}}");
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);

        assert_true(fabs(mean_share(world, 0, 12 * HOUR_S, 0) - 0.5) < 0.02);
        assert_true(fabs(mean_share(world, 12 * HOUR_S, 24 * HOUR_S, 0) - 1) < 0.04);
        assert_true(fabs(mean_share(world, 12 * HOUR_S, 24 * HOUR_S, 1) - 0.5) < 0.02);
}

TEST(giants) {
        const struct scenario scenario = paper_scenario(
                100, 16,
                "{kind: steady, workloads: 4, requests: [0.5], requested: 0.5, life: {mean: 1h}, "
                "usage: {share: 0.5, pareto: 1.5}}");
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        double most = 0;
        size_t below = 0;

        for (size_t i = 0; i < world->pod_count; i++) {
                most = fmax(most, world->pods[i].cores);
                below += world->pods[i].cores < 0.25;
        }
        assert_true(most > 7.9 && most <= 8 + 1e-9); /* half of a node */
        assert_true((double)below > 0.7 * (double)world->pod_count);
}

TEST(what_is_not_requested_or_owned) {
        const struct scenario scenario = paper_scenario(
                100, 16,
                "{kind: steady, owner: none, workloads: 4, requests: [0], count: 500, life: {mean: "
                "1h}, usage: {fromCores: 0.1, toCores: 1, mean: 0.2}}");
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        double cores = 0;

        for (size_t i = 0; i < 500; i++) {
                const struct pod *pod = &world->pods[i];
                cores += pod->cores;
                assert_true(pod->is_bare && pod->set == POD_HAS_NO_SET && pod->bytes > 0);
                assert_int_equal(pod_request(pod).milli_cores, 0);
                assert_int_equal(pod_request_counted(pod).milli_cores, 100);
                assert_int_equal(pod_request_counted(pod).bytes, 200 << 20);
        }
        assert_true(fabs(cores / 1600 - 0.2) < 0.03);
}

TEST(revisions_are_replica_sets) {
        const struct scenario scenario = paper_scenario(
                10, 16,
                "{kind: rollout, workloads: 2, requests: [1], requested: 0.5, life: {mean: 1h}, "
                "usage: {share: 0.5}}");
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        const struct pod *first = &world->pods[0];
        size_t same = 0, others = 0;

        for (size_t i = 0; i < world->pod_count; i++) {
                const struct pod *pod = &world->pods[i];
                assert_true(pod->set < world->set_count);
                if (pod->workload != first->workload)
                        assert_true(pod->set != first->set);
                else if (pod->set == first->set)
                        same++;
                else
                        others++;
        }
        assert_int_equal(same, 40);
        assert_true(others > 100);
}

TEST(nodes_that_are_not_read) {
        struct scenario scenario = paper_scenario(
                1, 16,
                "{kind: burst, workloads: 1, requests: [1], life: {mean: 1h}, usage: {share: 1}, "
                "burst: {pods: 1}}");

        scenario.shapes[0].joins_s = 100;
        scenario.shapes[0].exporter_s = 60;
        scenario.base_gib = 2;
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        assert_true(fabs(world_memory_ratio(world, 0) - 2.0 / 64) < 1e-12);
        pass(world, 159);
        assert_true(world_has_node(world, 0) && !world_has_exporter(world, 0));
        pass(world, 160);
        assert_true(world_has_exporter(world, 0));
        world->nodes[0].is_exporter_dead = true;
        assert_false(world_has_exporter(world, 0));
}

TEST(a_node_is_busy_while_it_joins) {
        struct scenario scenario = paper_scenario(
                1, 4,
                "{kind: burst, workloads: 1, requests: [1], life: {from: 1h, to: 1h}, usage: "
                "{share: 1}, burst: {pods: 1}}");
        scenario.base_from = scenario.base_to = 0.1;
        scenario.shapes[0].joins_s = 60;
        scenario.shapes[0].busy_s = 30;
        scenario.shapes[0].busy_ratio = 0.5;
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);

        pass(world, 89);
        assert_float_equal(world_base_ratio(world, 0), 0.6, 1e-9);
        pass(world, 90);
        assert_float_equal(world_base_ratio(world, 0), 0.1, 1e-9);
}

/* Nodes leave after 1, 2 and 3 minutes, and the pod's place is taken each time. */
TEST(evicted_again_and_again) {
        struct scenario scenario = paper_scenario(
                1, 16,
                "{kind: burst, workloads: 1, requests: [1], life: {from: 1h, to: 1h}, usage: "
                "{share: 1}, burst: {pods: 1}}");
        struct heard heard = {0};

        scenario.shape_count = 4;
        for (size_t i = 0; i < 3; i++) {
                scenario.shapes[i] = scenario.shapes[0];
                scenario.shapes[i].leaves_s = (double)(60 * (i + 1));
        }
        scenario.shapes[3] = scenario.shapes[0];
        scenario.shapes[3].leaves_s = 0;
        _cleanup_(world_freep) struct world *world = listen_to(&scenario, &heard);
        for (size_t i = 0; i < 4; i++) {
                assert_int_equal(world->renewed, i);
                assert_false(world->pods[i].follows_eviction);
                world_place(world, &world->pods[i], i);
                if (i > 0) /* what was left */
                        assert_int_equal(world->pods[i].life_s,
                                         world->pods[i - 1].ends_s - world->now_s);
                pass(world, (int64_t)(60 * (i + 1)));
        }
        assert_int_equal(heard.ended, 3);
        assert_true(world_is_running(world, &world->pods[3]));
        assert_true(world_evict(world, &world->pods[3]));
        assert_true(world->pods[4].follows_eviction);
}

/* Of 4 CPUs that do 1 - 0.4 u of the work when they are busy by the ratio u. */
TEST(shared_cpus_slow_each_other_down) {
        static const struct {
                double wanted_cores, demand, slowdown;
        } rows[] = {
                {0, 0, 1},
                {1.6, 0.5, 0.8}, /* 0.5 * 0.8 = 0.4 */
                {2.4, 1, 0.6},
                {4.8, 2, 1.2},
        };
        struct scenario scenario = paper_scenario(
                1, 4,
                "{kind: burst, workloads: 1, requests: [1], life: "
                "{mean: 1h}, usage: {share: 1}, burst: {pods: 1}}");

        scenario.shapes[0].shared_ratio = 0.4;
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                world->nodes[0].demand_cores = rows[i].wanted_cores;
                assert_true(fabs(world_demand_ratio(world, 0) - rows[i].demand) < 1e-9);
                assert_true(fabs(world_slowdown(world, 0) - rows[i].slowdown) < 1e-9);
        }
}

/* Two pods that want a node's only core for a minute. */
TEST(a_throttled_pod_takes_longer_where_its_work_is_cpu_time) {
        for (int is_of_cpu = 0; is_of_cpu < 2; is_of_cpu++) {
                char stream[256];
                (void)snprintf(stream, sizeof(stream),
                               "{kind: burst, workloads: 1, requests: [0.5], life: {from: 60s, to: "
                               "60s%s}, "
                               "usage: {share: 2}, noise: {sigma: 0}, burst: {pods: 2}}",
                               is_of_cpu ? ", ofCpu: true" : "");
                const struct scenario scenario = paper_scenario(1, 1, stream);
                struct heard heard = {0};
                _cleanup_(world_freep) struct world *world = listen_to(&scenario, &heard);
                pass(world, 1);
                for (size_t i = 0; i < 2; i++) {
                        world->pods[i].cores = 1;
                        world->pods[i].start_s = 2;
                        world_place(world, &world->pods[i], 0);
                }
                pass(world, 1 + 2 + 61);
                assert_int_equal(heard.ended, is_of_cpu ? 0 : 2);
                pass(world, 1 + 2 + 119);
                assert_int_equal(heard.ended, is_of_cpu ? 0 : 2);
                pass(world, 1 + 2 + 123);
                assert_int_equal(heard.ended, 2);
        }
}

TEST(absences) {
        const struct scenario scenario = {.warm_up_s = 1000};
        const struct absence never = {0}, once = {10, 900};

        assert_false(scenario_is_away(&scenario, &never, 1000));
        assert_false(scenario_is_away(&scenario, &once, 1009));
        assert_true(scenario_is_away(&scenario, &once, 1010));
        assert_true(scenario_is_away(&scenario, &once, 1909));
        assert_false(scenario_is_away(&scenario, &once, 1910));
}
