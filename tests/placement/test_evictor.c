/* When the deschedulers evict, and which pods. Four pods make node 0 hot; nodes 1 and 2 have one
 * each. */
#include "evictor.h"
#include "paper_world.h"

enum { NODES = 3, PODS = 6, ON_HOT = 4, MINUTE_S = 60 };

#define PODS_OF(owner)                                                                             \
        "{kind: burst, owner: " owner ", workloads: 1, requests: [0.5], life: {mean: 1h}, usage: " \
        "{share: 1}, noise: {sigma: 0}, burst: {pods: 6}}"

struct play {
        struct scenario scenario;
        struct world *world;
        const struct evictor *evictor;
        void *self;
};

static void begin(struct play *play, const struct evictor *evictor, const char *stream,
                  double hot_cores) {
        *play = (struct play){.evictor = evictor, .scenario = paper_scenario(NODES, 4, stream)};
        play->world = world_new(&play->scenario, 1);
        play->self = evictor->new (evictor, play->world);
        world_step(play->world);
        for (size_t i = 0; i < PODS; i++) {
                struct pod *pod = &play->world->pods[i];
                pod->life_s = 86400;
                pod->cores = i < ON_HOT ? hot_cores : 0.4;
                world_place(play->world, pod, i < ON_HOT ? 0 : i - ON_HOT + 1);
        }
}

static void end(const struct play *play) {
        play->evictor->free(play->self);
        world_free(play->world);
}

/* Return: how many pods it evicts next, but no later than @until_s */
static size_t pass(const struct play *play, int64_t until_s, struct pod *ret[static EVICTOR_MAX]) {
        const struct situation situation = {.world = play->world};
        size_t count = 0;

        while (count == 0 && play->world->now_s < until_s) {
                world_step(play->world);
                play->evictor->on_second(play->self);
                if (play->world->now_s % play->evictor->every_s == 0)
                        count = play->evictor->choose(&situation, play->self, ret);
        }
        return count;
}

TEST(each_evicts_from_its_threshold_on_as_many_as_it_knows_to_be_needed) {
        static const struct {
                const struct evictor *evictor;
                double hot_cores;
                size_t count;
        } rows[] = {
                {&evictor_descheduler, 0.75, 0},    /* 75% */
                {&evictor_descheduler, 0.9, 1},     /* 90% */
                {&evictor_descheduler_65, 0.62, 0}, /* 62% */
                {&evictor_descheduler_65, 0.9, 1},  {&evictor_descheduler_ms, 0.62, 0},
                {&evictor_descheduler_ms, 0.9, 2}, /* 68% with three of them */
                {&evictor_low_node_load, 0.62, 0},  {&evictor_low_node_load, 0.7, 1},
                {&evictor_low_node_load, 0.9, 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod *pods[EVICTOR_MAX];
                struct play play;
                begin(&play, rows[i].evictor, PODS_OF("replicaSet"), rows[i].hot_cores);
                size_t count = pass(&play, 3600, pods);
                if (count != rows[i].count)
                        fail_msg("row %zu: %zu", i, count);
                for (size_t k = 0; k < count; k++)
                        assert_int_equal(pods[k]->node, 0);
                end(&play);
        }
}

TEST(pods_that_nobody_owns_stay) {
        static const struct evictor *const evictors[] = {&evictor_descheduler_ms,
                                                         &evictor_low_node_load};

        for (size_t i = 0; i < ARRAY_LEN(evictors); i++) {
                struct pod *pods[EVICTOR_MAX];
                struct play play;
                begin(&play, evictors[i], PODS_OF("none"), 0.9);
                assert_int_equal(pass(&play, 3600, pods), 0);
                end(&play);
        }
}

TEST(the_descheduler_waits_for_every_node_and_for_young_pods) {
        struct pod *pods[EVICTOR_MAX];
        struct play play;

        begin(&play, &evictor_descheduler, PODS_OF("replicaSet"), 0.9);
        assert_int_equal(pass(&play, 15 * MINUTE_S, pods), 0);
        play.world->nodes[1].is_exporter_dead = true;
        assert_int_equal(pass(&play, 3600, pods), 0);
        play.world->nodes[1].is_exporter_dead = false;
        assert_int_equal(pass(&play, 2 * 3600, pods), 1);
        end(&play);
}

TEST(low_node_load_waits_for_six_cycles_and_evicts_the_pod_that_covers_the_rest) {
        struct pod *pods[EVICTOR_MAX] = {NULL};
        struct play play;

        begin(&play, &evictor_low_node_load, PODS_OF("replicaSet"), 0.7);
        play.world->pods[0].cores = 0.9;
        play.world->pods[2].cores = 0.5; /* 2.8 of 4 cores: 0.2 too many */
        assert_int_equal(pass(&play, 5 * MINUTE_S, pods), 0);
        assert_int_equal(pass(&play, 8 * MINUTE_S, pods), 1);
        assert_true(pods[0] == &play.world->pods[2]);
        /* It has to be hot for as long again. */
        assert_int_equal(pass(&play, play.world->now_s + 5 * MINUTE_S, pods), 0);
        assert_int_equal(pass(&play, play.world->now_s + 2 * MINUTE_S, pods), 1);
        end(&play);
}
