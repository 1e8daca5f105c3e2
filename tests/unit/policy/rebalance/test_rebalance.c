/* Which pods a plan moves, and where to. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "policy/rebalance/rebalance.h"

enum { NODES = 4, MANY = 100, PODS = 8 };

#define NOW INT64_C(1784800000000)
#define CORES 10.0 /* of each node */
#define OLD (NOW - REBALANCE_AGE_MS)

struct world {
        struct rebalance_row rows[MANY];
        struct rebalance_workload workloads[PODS]; /* one per pod, of three replicas */
        struct rebalance_pod pods[PODS];
        struct rebalance_scheduler scheduler, another; /* the first one asks */
        struct rebalance_eviction evictions[2];        /* the plan sees eviction_count */
        size_t refused; /* a pod that must not move once it is read; PODS: none */
        size_t nowhere; /* a pod that the judge would place nowhere; PODS: none */
        struct rebalance_input input;
        struct rebalance_plan plan;
};

static void put_sized(struct world *world, size_t node, double cpu, double cores) {
        world->rows[node] = (struct rebalance_row){
                .usage_ratio = cpu,
                .cores = cores,
                .line = rebalance_line(0.8, 0),
                .free = {{CORES, 1e12}},
        };
        if (world->input.row_count <= node)
                world->input.row_count = node + 1;
}

static void put(struct world *world, size_t node, double cpu) {
        put_sized(world, node, cpu, CORES);
}

static bool read_pod(void *userdata, size_t pod) {
        const struct world *world = userdata;

        return pod != world->refused;
}

/* Nodes above the limit are rejected. */
static void ask(void *userdata, size_t pod, double *ret_headroom) {
        const struct world *world = userdata;

        for (size_t row = 0; row < world->input.row_count; row++)
                ret_headroom[row] = pod == world->nowhere || world->rows[row].usage_ratio > 0.8
                                            ? NAN
                                            : 100 * (1 - world->rows[row].usage_ratio);
}

/* n0 to n3 are so busy. The pods of n0 use 0.02, 0.08 and 0.15 of it. */
static struct world *world_with(const double usage[static NODES]) {
        static const double used_ratio[] = {0.02, 0.08, 0.15};
        struct world *world = xcalloc(1, sizeof(*world));

        world->scheduler.is_asking = true;
        for (size_t i = 0; i < NODES; i++)
                put(world, i, usage[i]);
        for (size_t i = 0; i < PODS; i++) {
                world->workloads[i].running_count = 3;
                world->pods[i] = (struct rebalance_pod){
                        .workload = &world->workloads[i],
                        .scheduler = &world->scheduler,
                        .used = {{CORES * used_ratio[i % ARRAY_LEN(used_ratio)], 1e9}},
                        .bound_unix_ms = OLD,
                        .runs_unix_ms = OLD,
                };
        }
        world->input = (struct rebalance_input){
                .rows = world->rows,
                .row_count = world->input.row_count,
                .pods = world->pods,
                .pod_count = ARRAY_LEN(used_ratio),
                .evictions = world->evictions,
                .now_unix_ms = NOW,
                .move_max = PODS,
                .read_pod = read_pod,
                .ask = ask,
                .userdata = world,
        };
        return world;
}

static struct world *world_new(void) {
        return world_with((const double[]){0.70, 0.30, 0.20, 0.40});
}

static void world_free(struct world *world) {
        rebalance_plan_done(&world->plan);
        free(world);
}

static const struct rebalance_node *plan(struct world *world) {
        rebalance_plan_done(&world->plan);
        rebalance_plan(&world->input, &world->plan);
        return world->plan.nodes;
}

/* @move: the pod and its new node as "pod>node" */
static void expect_move(struct world *world, const char *move) {
        const struct rebalance_node *node = plan(world);
        char text[16];

        assert_int_equal(world->plan.node_count, 1);
        assert_int_equal(node->stay, REBALANCE_MOVES);
        (void)snprintf(text, sizeof(text), "%zu>%u", node->pod, (unsigned)node->target_row);
        assert_string_equal(text, move);
        assert_int_equal(world->plan.move_count, 1);
}

static void expect_stay(struct world *world, enum rebalance_stay stay) {
        const struct rebalance_node *node = plan(world);

        assert_int_equal(world->plan.node_count, 1);
        assert_int_equal(node->stay, stay);
        assert_int_equal(world->plan.move_count, 0);
}

/* 0.08 is enough to bring 0.70 below 0.63, and the least loaded node gets it. */
TEST(smallest_that_is_enough) {
        struct world *world = world_new();

        world->pods[0].used = world->pods[2].used;
        expect_move(world, "1>2");
        const struct rebalance_node *node = world->plan.nodes;
        assert_true(fabs(node->usage_ratio - 0.70) < 1e-9);
        assert_true(fabs(node->after_ratio - 0.62) < 1e-9);
        assert_true(fabs(node->target_ratio - 0.20) < 1e-9);
        assert_true(fabs(node->target_after_ratio - 0.28) < 1e-9);
        world_free(world);
        world = world_with((const double[]){0.76, 0.30, 0.20, 0.40});
        expect_move(world, "2>2");
        world_free(world);
}

TEST(largest_if_none_is_enough) {
        struct world *world = world_with((const double[]){0.95, 0.30, 0.20, 0.40});

        expect_move(world, "2>2");
        world_free(world);
}

/* What pods use is measured over less time than what nodes use. */
TEST(pod_that_uses_more_than_its_node) {
        struct world *world = world_new();

        put_sized(world, 2, 0.10, 100);
        world->pods[1].is_kept = true;
        world->pods[2].used.of[ESTIMATE_CPU] = 0.8 * CORES;
        expect_move(world, "2>2");
        assert_true(world->plan.nodes->after_ratio == 0);
        world_free(world);
}

TEST(no_hot_node) {
        struct world *world = world_with((const double[]){0.649, 0.30, 0.20, 0.40});

        (void)plan(world);
        assert_int_equal(world->plan.node_count, 0);
        world_free(world);
}

/* Pod 0 is too small. Pod 1 moves, unless something speaks against it; then pod 2 does. */
TEST(pods_that_stay) {
        struct world *world = world_new();

        world->pods[1].is_kept = true;
        expect_move(world, "2>2");
        world->pods[1].is_kept = false;
        world->pods[1].runs_unix_ms = OLD + 1;
        expect_move(world, "2>2");
        world->pods[1].runs_unix_ms = INT64_MAX;
        expect_move(world, "2>2");
        world->pods[1].runs_unix_ms = OLD;
        world->workloads[1].running_count = 1;
        expect_move(world, "2>2");
        world->workloads[1].running_count = 2;
        world->workloads[1].pending_count = 1;
        expect_move(world, "2>2");
        world->workloads[1].pending_count = 0;
        world->pods[1].scheduler = &world->another;
        expect_move(world, "2>2");
        world->pods[1].workload = NULL;
        expect_move(world, "2>2");
        world->pods[2].workload = NULL;
        expect_stay(world, REBALANCE_NO_POD);
        world_free(world);
}

/* A pod of a workload was evicted from a node. If another one was bound there since, all its pods
 * stay; the time of a binding has no fractions of a second. */
TEST(workload_that_came_back) {
        struct world *world = world_new();

        world->evictions[0] = (struct rebalance_eviction){NULL, 0, OLD};
        world->evictions[1] = (struct rebalance_eviction){&world->workloads[1], 0, NOW - 60500};
        world->input.eviction_count = 2;
        world->pods[3].workload = &world->workloads[1];
        world->pods[3].runs_unix_ms = NOW - 50000;
        world->input.pod_count = 4;
        world->pods[3].bound_unix_ms = NOW - 62000; /* before */
        expect_move(world, "1>2");
        world->pods[3].bound_unix_ms = NOW - 61000; /* within the same second, or after */
        expect_move(world, "2>2");
        world->pods[2].is_kept = true;
        expect_stay(world, REBALANCE_NO_POD);
        assert_int_equal(world->plan.nodes[0].kept[REBALANCE_KEEP_RETURNED], 1);
        world->pods[3].row = 2; /* it went elsewhere */
        expect_move(world, "1>2");
        world->evictions[1].row = REBALANCE_UNKNOWN; /* the node is gone */
        world->pods[3].row = REBALANCE_UNKNOWN;
        expect_move(world, "1>2");
        world_free(world);
}

/* Then the next best pod is read. */
TEST(pod_that_is_refused_when_read) {
        struct world *world = world_new();

        world->refused = 1;
        expect_move(world, "2>2");
        world->pods[2].workload = NULL;
        expect_stay(world, REBALANCE_NO_POD);
        world_free(world);
}

/* Of a node without a pod to move, each pod counts under its reason. */
TEST(reasons) {
        struct world *world = world_new();

        world->refused = 1;
        world->pods[2].is_kept = true;
        world->workloads[3].running_count = 1;
        world->workloads[4].pending_count = 1;
        world->pods[5].runs_unix_ms = NOW;
        world->pods[7].scheduler = &world->another;
        world->pods[6].row = 1;
        world->input.pod_count = 8;
        expect_stay(world, REBALANCE_NO_POD);
        const size_t *kept = world->plan.nodes[0].kept;
        assert_int_equal(kept[REBALANCE_KEEP_SMALL], 1);
        assert_int_equal(kept[REBALANCE_KEEP_REFUSED], 1);
        assert_int_equal(kept[REBALANCE_KEEP_BOUND], 1);
        assert_int_equal(kept[REBALANCE_KEEP_ALONE], 1);
        assert_int_equal(kept[REBALANCE_KEEP_BUSY], 1);
        assert_int_equal(kept[REBALANCE_KEEP_YOUNG], 1);
        assert_int_equal(kept[REBALANCE_KEEP_UNASKED], 1);
        world_free(world);
}

/* An expired reading says nothing, of a hot node and of a target. */
TEST(readings) {
        struct world *world = world_new();

        world->rows[2].is_expired = true;
        expect_stay(world, REBALANCE_NO_TARGET); /* the judge wants that node */
        world->rows[0].is_expired = true;
        expect_stay(world, REBALANCE_UNREAD);
        world->rows[0].usage_ratio = NAN;
        (void)plan(world);
        assert_int_equal(world->plan.node_count, 0);
        world_free(world);
}

/* The scheduler would not use a node that is closed, has no room for the request, or is full. */
TEST(targets) {
        struct world *world = world_new();

        world->rows[2].is_closed = true;
        expect_move(world, "1>1");
        world->pods[1].request = (struct pod_load){{2, 0}};
        world->rows[1].free.of[ESTIMATE_CPU] = 1.9;
        expect_move(world, "1>3");
        world->pods[1].request = (struct pod_load){{0}};
        world->rows[1].is_closed = true;
        put_sized(world, 3, 0.4, 0);
        expect_stay(world, REBALANCE_NO_TARGET);
        put(world, 3, 0.4);
        put(world, 3, 0.9);
        assert_int_equal(plan(world)[1].stay, REBALANCE_NO_TARGET);
        world_free(world);
}

/* The 0.15 that pod 2 uses fit nowhere, and 0.08 do. */
TEST(smaller_pod_if_the_chosen_one_fits_nowhere) {
        struct world *world = world_with((const double[]){0.76, 0.59, 0.50, 0.59});

        expect_move(world, "1>2");
        world->pods[3].used = (struct pod_load){{0.2 * CORES, 1e9}}; /* nor does a larger one */
        world->input.pod_count = 4;
        expect_move(world, "1>2");
        world->pods[1].is_kept = true;
        expect_stay(world, REBALANCE_NO_TARGET);
        assert_int_equal(world->plan.nodes[0].kept[REBALANCE_KEEP_NO_TARGET], 2);
        world_free(world);
}

/* Pod 1 requests more than any node has; pod 2 is larger, and requests less. */
TEST(next_pod_if_there_is_no_room) {
        struct world *world = world_new();

        world->pods[1].request = (struct pod_load){{0, 2e12}};
        expect_move(world, "2>2");
        world->pods[2].is_kept = true;
        expect_stay(world, REBALANCE_NO_TARGET);
        assert_int_equal(world->plan.nodes[0].kept[REBALANCE_KEEP_NO_ROOM], 1);
        world_free(world);
}

/* The pod's 0.08 and the margin must fit below the line. */
TEST(full_targets) {
        struct world *world = world_with((const double[]){0.70, 0.61, 0.61, 0.521});

        expect_stay(world, REBALANCE_NO_TARGET);
        world_free(world);
        world = world_with((const double[]){0.70, 0.61, 0.61, 0.519});
        expect_move(world, "1>3");
        world_free(world);
}

/* The hottest node comes first. A plan moves as much as the caller allows, and one of fifty nodes.
 */
TEST(several) {
        struct world *world = world_with((const double[]){0.70, 0.75, 0.20, 0.25});

        for (size_t i = 3; i < 6; i++)
                world->pods[i].row = 1;
        world->input.pod_count = 6;
        const struct rebalance_node *nodes = plan(world);
        assert_int_equal(world->plan.node_count, 2);
        assert_int_equal(nodes[0].row, 1);
        assert_int_equal(nodes[0].pod, 5);
        assert_int_equal(nodes[0].target_row, 2);
        assert_int_equal(nodes[1].stay, REBALANCE_PLAN_IS_FULL);
        world->input.move_max = 0;
        nodes = plan(world);
        assert_int_equal(nodes[0].stay, REBALANCE_PLAN_IS_FULL);
        world_free(world);
}

TEST(margin_of_a_target) {
        struct world *world = world_with((const double[]){0.70, 0.61, 0.61, 0.45});

        world->rows[3].margin_ratio = 0.05;
        expect_move(world, "1>3");
        assert_true(fabs(world->plan.nodes->target_ratio - 0.50) < 1e-9);
        world->rows[3].margin_ratio = 0.08;
        expect_stay(world, REBALANCE_NO_TARGET);
        world_free(world);
}

/* A workload loses one pod, and a node gets one. */
TEST(two_moves) {
        struct world *world = world_with((const double[]){0.75, 0.75, 0.20, 0.30});

        for (size_t i = NODES; i < MANY; i++)
                put(world, i, 0.62);
        for (size_t i = 3; i < 6; i++)
                world->pods[i].row = 1;
        world->pods[3].used = world->pods[5].used;
        world->pods[2].workload = world->pods[5].workload;
        world->input.pod_count = 6;
        const struct rebalance_node *nodes = plan(world);
        assert_int_equal(world->plan.move_count, 2);
        assert_int_equal(nodes[0].row, 0);
        assert_int_equal(nodes[0].pod, 2);
        assert_int_equal(nodes[0].target_row, 2);
        assert_int_equal(nodes[1].pod, 3);
        assert_int_equal(nodes[1].target_row, 3);
        world_free(world);
}
