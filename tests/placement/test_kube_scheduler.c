/* kube-scheduler's filter, sampling and scores, by hand. */
#include "paper_world.h"

#include "kube_scheduler.h"

static const struct algorithm alone = {.name = "alone"},
                              packing = {.name = "packing", .is_packing = true};

static const char *const of_sets =
        "{kind: burst, workloads: 1, requests: [1], life: {mean: 1h}, usage: {share: 1}, burst: "
        "{pods: 500}}";

static void put(struct kube_scheduler *scheduler, struct world *world, struct pod *pod,
                size_t node) {
        world_place(world, pod, node);
        kube_scheduler_count(scheduler, pod, 1);
}

/* Return: the node for @pod, where nobody else has a say */
static size_t place_of(struct kube_scheduler *scheduler, const struct algorithm *algorithm,
                       const struct pod *pod) {
        uint32_t candidates[16];
        const int scores[16] = {0};
        size_t count = kube_scheduler_filter(scheduler, pod, false, candidates);

        assert_true(count <= ARRAY_LEN(candidates));
        return kube_scheduler_choose(scheduler, algorithm, pod, candidates, count, scores);
}

/*
 * Node 0 has 14 of 16 cores and 28 of 64 GiB requested, by another ReplicaSet; node 1 has one pod
 * of this one. For one core and 2 GiB more LeastAllocated gives 29 and 90, the balance 74 and 74 or
 * 75; the sets' unevenness is round(0 + 2) = 2 and round(ln 4 + 2) = 3, so the spread 2 x 100 and 2
 * x 66.
 */
TEST(sets_are_spread) {
        const struct scenario scenario = paper_scenario(2, 16, of_sets);
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        _cleanup_(kube_scheduler_freep) struct kube_scheduler *scheduler = NULL;
        struct pod *other = &world->pods[0], *first = &world->pods[1], *pod = &world->pods[2];

        world->set_count = 2;
        scheduler = kube_scheduler_new(world);
        other->set = 1;
        other->request_cores = 14;
        other->request_bytes = 0x1p30 * 28;
        put(scheduler, world, other, 0);
        put(scheduler, world, first, 1);
        assert_int_equal(place_of(scheduler, &alone, pod), 0);
        pod->set = POD_HAS_NO_SET; /* of a Job */
        assert_int_equal(place_of(scheduler, &alone, pod), 1);
        assert_int_equal(place_of(scheduler, &packing, pod), 0);
}

/* With a pod on node 0 and two on node 1, and node 2 rejected, the fewest are one. */
TEST(rejected_nodes_are_not_scored) {
        const struct scenario scenario = paper_scenario(3, 16, of_sets);
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        _cleanup_(kube_scheduler_freep) struct kube_scheduler *scheduler = kube_scheduler_new(
                world);
        const uint32_t candidates[] = {0, 1, 2};
        const int one_left[] = {0, 0, SCORE_REJECTED}, none_left[] = {-1, -1, -1};

        put(scheduler, world, &world->pods[0], 0);
        put(scheduler, world, &world->pods[1], 1);
        put(scheduler, world, &world->pods[2], 1);
        assert_int_equal(
                kube_scheduler_choose(scheduler, &alone, &world->pods[3], candidates, 3, one_left),
                0);
        assert_int_equal(
                kube_scheduler_choose(scheduler, &alone, &world->pods[3], candidates, 3, none_left),
                3);
}

TEST(room) {
        const struct scenario scenario = paper_scenario(2, 2, of_sets);
        _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
        _cleanup_(kube_scheduler_freep) struct kube_scheduler *scheduler = kube_scheduler_new(
                world);
        uint32_t candidates[2];

        for (size_t i = 0; i < 2; i++)
                put(scheduler, world, &world->pods[i], 0);
        assert_int_equal(kube_scheduler_filter(scheduler, &world->pods[2], false, candidates), 1);
        assert_int_equal(candidates[0], 1);
        struct pod *nothing = &world->pods[2];
        nothing->request_cores = nothing->request_bytes = 0;
        assert_int_equal(kube_scheduler_filter(scheduler, nothing, false, candidates), 2);
        for (size_t i = 0; i < 110; i++) {
                world->pods[10 + i].request_cores = world->pods[10 + i].request_bytes = 0;
                put(scheduler, world, &world->pods[10 + i], 1);
        }
        assert_int_equal(kube_scheduler_filter(scheduler, nothing, false, candidates), 1);
        assert_int_equal(candidates[0], 0);
}

TEST(sampling) {
        static const struct {
                size_t nodes;
                double scored;
                size_t wanted;
        } rows[] = {
                {99, 0, 99},    {150, 0, 100},    {400, 0, 188}, /* 50 - 400 / 125 = 47% */
                {6000, 0, 300}, {400, 0.05, 100}, {400, 0.5, 200}, {400, 1, 400},
        };
        static uint32_t candidates[6000];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scenario scenario = paper_scenario(rows[i].nodes, 16, of_sets);
                scenario.scored_ratio = rows[i].scored;
                _cleanup_(world_freep) struct world *world = world_new(&scenario, 1);
                _cleanup_(kube_scheduler_freep) struct kube_scheduler *scheduler =
                        kube_scheduler_new(world);
                size_t count = kube_scheduler_filter(scheduler, &world->pods[0], false, candidates);
                assert_int_equal(count, rows[i].wanted);
                assert_int_equal(candidates[0], 0);
                (void)kube_scheduler_filter(scheduler, &world->pods[0], false, candidates);
                assert_int_equal(candidates[0], count % rows[i].nodes);
        }
}
