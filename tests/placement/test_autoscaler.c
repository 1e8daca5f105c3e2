/* Replicas that share a load, and how many of them an autoscaler wants. */
#include "autoscaler.h"

#include <math.h>

#include "paper_world.h"

enum { HOUR_S = 3600, NOWHERE = -1, IN_TURN = -2 };

/* What a simulation does with pods; each is placed on node @where. */
struct fixture {
        struct world *world;
        struct autoscaler *autoscaler;
        size_t taken, taken_renewed;
        int where;
};

static void on_started(void *userdata, struct pod *pod) {
        struct fixture *fixture = userdata;

        autoscaler_started(fixture->autoscaler, pod);
}

static void on_ended(void *userdata, struct pod *pod) {
        struct fixture *fixture = userdata;

        autoscaler_ended(fixture->autoscaler, pod);
}

static void begin(struct fixture *fixture, const struct scenario *scenario, int where) {
        *fixture = (struct fixture){.world = world_new(scenario, 1), .where = where};
        fixture->autoscaler = autoscaler_new(fixture->world);
        fixture->world->listener = (struct world_listener){
                .on_started = on_started, .on_ended = on_ended, .userdata = fixture};
}

static void done(struct fixture *fixture) {
        autoscaler_free(fixture->autoscaler);
        world_free(fixture->world);
}

static void take(struct fixture *fixture, struct pod *pod) {
        int where = fixture->where;

        if (where == IN_TURN)
                where = (int)(pod->index % fixture->world->node_count);
        autoscaler_arrived(fixture->autoscaler, pod);
        if (where != NOWHERE)
                world_place(fixture->world, pod, (size_t)where);
}

static void pass(struct fixture *fixture, int64_t until_s) {
        struct world *world = fixture->world;

        while (world->now_s < until_s) {
                world_step(world);
                while (fixture->taken < world->arrived)
                        take(fixture, &world->pods[fixture->taken++]);
                while (fixture->taken_renewed < world->renewed)
                        take(fixture, &world->pods[world->pod_count + fixture->taken_renewed++]);
                autoscaler_step(fixture->autoscaler);
        }
}

static size_t replicas(const struct fixture *fixture) {
        const struct world *world = fixture->world;
        size_t count = 0;

        for (size_t i = 0; i < world->pod_count + world->renewed; i++)
                count += !world->pods[i].has_ended;
        return count;
}

static double used_cores(const struct fixture *fixture) {
        double cores = 0;

        for (size_t n = 0; n < fixture->world->node_count; n++)
                cores += fixture->world->nodes[n].demand_cores;
        return cores;
}

/* So many replicas that use half a core each, and from the first hour to the second so much more.
 */
static struct scenario service_scenario(size_t nodes, double cores, size_t count, double factor) {
        char stream[256];

        (void)snprintf(stream, sizeof(stream),
                       "{kind: scaled, workloads: 1, requests: [1], count: %zu, life: {mean: "
                       "9999h}, noise: {sigma: 0}, usage: {share: 0.5}, hours: {from: 1h, to: 2h, "
                       "factor: %g}}",
                       count, factor);
        return paper_scenario(nodes, cores, stream);
}

TEST(replicas_share_what_all_use) {
        const struct scenario scenario = service_scenario(3, 16, 6, 1);
        struct fixture fixture;
        double demand = 0;

        begin(&fixture, &scenario, IN_TURN);
        for (size_t i = 0; i < 6; i++)
                demand += fixture.world->pods[i].cores;
        pass(&fixture, 60);
        assert_float_equal(used_cores(&fixture), demand, 1e-9);
        assert_float_equal(fixture.world->pods[0].scaled_factor, 1, 1e-9);
        fixture.where = NOWHERE;
        assert_true(world_evict(fixture.world, &fixture.world->pods[0]));
        assert_float_equal(used_cores(&fixture), demand, 1e-9);
        double left = demand - fixture.world->pods[0].cores;
        assert_true(fabs(fixture.world->pods[1].scaled_factor - demand / left) < 1e-9);
        pass(&fixture, 300);
        assert_int_equal(replicas(&fixture), 6); /* the one that waits counts */
        done(&fixture);
}

TEST(scaling_up_and_down) {
        static const struct {
                double factor;
                size_t at_once, after_270_s, after_360_s;  /* from 1 h on */
                size_t then_after_270_s, then_after_360_s; /* from 2 h on */
        } rows[] = {
                {1.09, 10, 10, 10, 10, 10}, /* within the tolerance */
                {1.25, 13, 13, 13, 13, 10}, /* down after 5 minutes */
                {3.95, 20, 40, 40, 40, 10}, /* twice as many at once */
                {0.5, 10, 10, 5, 10, 10},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct scenario scenario = service_scenario(10, 16, 10, rows[i].factor);
                struct fixture fixture;
                begin(&fixture, &scenario, IN_TURN);
                pass(&fixture, HOUR_S);
                assert_int_equal(replicas(&fixture), rows[i].at_once);
                pass(&fixture, HOUR_S + 270);
                assert_int_equal(replicas(&fixture), rows[i].after_270_s);
                pass(&fixture, HOUR_S + 360);
                assert_int_equal(replicas(&fixture), rows[i].after_360_s);
                pass(&fixture, 2 * HOUR_S + 270);
                assert_int_equal(replicas(&fixture), rows[i].then_after_270_s);
                pass(&fixture, 2 * HOUR_S + 360);
                assert_int_equal(replicas(&fixture), rows[i].then_after_360_s);
                done(&fixture);
        }
}

TEST(few_replicas_may_become_four_more_at_once) {
        const struct scenario scenario = service_scenario(10, 16, 1, 8.5);
        struct fixture fixture;

        begin(&fixture, &scenario, IN_TURN);
        pass(&fixture, HOUR_S);
        assert_int_equal(replicas(&fixture), 5);
        pass(&fixture, HOUR_S + 60);
        assert_int_equal(replicas(&fixture), 9);
        done(&fixture);
}

/* An autoscaler sees the CPU that pods get. */
TEST(a_throttled_service_is_scaled_up_less) {
        for (int is_throttled = 0; is_throttled < 2; is_throttled++) {
                const struct scenario scenario = service_scenario(1, is_throttled ? 8 : 64, 10,
                                                                  3.95);
                struct fixture fixture;
                begin(&fixture, &scenario, 0);
                double demand = 0;
                for (size_t i = 0; i < 10; i++)
                        demand += fixture.world->pods[i].cores;
                pass(&fixture, HOUR_S + 300);
                size_t expected = (size_t)ceil(10 * fmin(3.95 * demand, 8) / demand);
                assert_int_equal(replicas(&fixture), is_throttled ? expected : 40);
                done(&fixture);
        }
}

/* They count as if they used nothing. */
TEST(pods_that_wait_are_not_added_again) {
        const struct scenario scenario = service_scenario(10, 16, 10, 1.45);
        struct fixture fixture;

        begin(&fixture, &scenario, IN_TURN);
        pass(&fixture, HOUR_S - 1);
        fixture.where = NOWHERE;
        pass(&fixture, HOUR_S + 1200);
        assert_int_equal(replicas(&fixture), 15);
        done(&fixture);
}

TEST(which_replicas_are_removed) {
        const struct scenario scenario = service_scenario(2, 16, 6, 0.5);
        struct fixture fixture;

        begin(&fixture, &scenario, 0);
        pass(&fixture, 1);
        world_remove(fixture.world, &fixture.world->pods[0]);
        fixture.where = 1; /* its successor's */
        pass(&fixture, 60);
        world_remove(fixture.world, &fixture.world->pods[1]);
        fixture.where = NOWHERE;
        pass(&fixture, HOUR_S + 400);
        assert_int_equal(replicas(&fixture), 3);
        assert_false(fixture.world->pods[6].has_ended); /* alone on its node */
        assert_true(fixture.world->pods[7].has_ended);  /* without a node */
        done(&fixture);
}
