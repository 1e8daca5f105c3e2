/* Batch work on idle CPU: what is recorded, how CPU is shared, what is offered, and what comes of
 * it. */
#include "paper_world.h"

#include <math.h>

#include "chance.h"
#include "cpu_weight.h"
#include "idle.h"

enum { NONE, NOW, HOUR, QUANTILE = 6, ORACLE, OFFERS };

static bool is_near(double a, double b) {
        return fabs(a - b) < 1e-6;
}

TEST(weights) {
        assert_true(is_near(cpu_weight(0), 1));
        assert_true(is_near(cpu_weight(0.001), 1));
        assert_true(is_near(cpu_weight(2), 1 + 2046.0 * 9999 / 262142));
        assert_true(is_near(cpu_weight(1000), 10000));
}

TEST(shares) {
        static const struct {
                struct cpu_consumer consumers[3];
                double cores, given[3];
        } rows[] = {
                {{{1, 2}, {1, 3}, {10, 4}}, 10, {2, 3, 4}}, /* there is enough */
                {{{1, 5}, {1, 5}, {2, 5}}, 8, {2, 2, 4}},   /* by weight */
                {{{1, 5}, {1, 5}, {2, 1}},
                 8,
                 {3.5, 3.5, 1}}, /* what one leaves is for all others */
                {{{1, 9}, {1, 1}, {2, 2.3}}, 4.5, {1.2, 1, 2.3}}, /* in two rounds */
                {{{0, 0}, {79, 16}, {3, 6}}, 16, {0, 79.0 / 82 * 16, 3.0 / 82 * 16}},
                {{{1, 0}, {0, 0}, {0, 0}}, 4, {0, 0, 0}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double given[3];
                cpu_weight_share(rows[i].consumers, 3, rows[i].cores, given);
                for (size_t c = 0; c < 3; c++)
                        if (!is_near(given[c], rows[i].given[c]))
                                fail_msg("row %zu: %g and not %g", i, given[c], rows[i].given[c]);
        }
}

/* All that is wanted or all that there is; and who gets less than is wanted has no less for its
 * weight than anybody else. */
TEST(shares_of_random_consumers) {
        for (uint64_t seed = 0; seed < 500; seed++) {
                struct cpu_consumer consumers[20];
                double given[20], wanted = 0, sum = 0, level = 0;
                for (size_t c = 0; c < 20; c++) {
                        consumers[c].weight = 1 + 99 * chance_uniform(seed, c);
                        consumers[c].wanted_cores = 2 * chance_uniform(seed, 100 + c);
                        wanted += consumers[c].wanted_cores;
                }
                double cores = 30 * chance_uniform(seed, 200);
                cpu_weight_share(consumers, 20, cores, given);
                for (size_t c = 0; c < 20; c++) {
                        sum += given[c];
                        level = fmax(level, given[c] / consumers[c].weight);
                }
                assert_true(is_near(sum, fmin(cores, wanted)));
                for (size_t c = 0; c < 20; c++)
                        assert_true(is_near(given[c], consumers[c].wanted_cores) ||
                                    (given[c] < consumers[c].wanted_cores &&
                                     is_near(given[c] / consumers[c].weight, level)));
        }
}

TEST(peaks) {
        const struct offer all = {.peak = OFFER_MAXIMUM, .readings = 5},
                           last = {.peak = OFFER_MAXIMUM, .readings = 1},
                           sigmas = {.peak = OFFER_SIGMAS, .readings = 4},
                           rank = {.peak = OFFER_QUANTILE, .readings = 480};
        const double readings[] = {9, 2, 4, 4, 2};
        double many[600];

        assert_true(offer_peak(&all, readings, 5) == 9);
        assert_true(offer_peak(&all, readings + 1, 4) == 4); /* fewer than it has */
        assert_true(offer_peak(&last, readings, 5) == 2);
        assert_true(is_near(offer_peak(&sigmas, readings, 5), 3 + 2));
        for (size_t i = 0; i < 600; i++)
                many[i] = 600 - (double)i;
        assert_true(offer_peak(&rank, many, 600) == 476); /* of 1 to 480 */
        assert_true(offer_peak(&rank, many, 1) == 600);
        assert_string_equal(offers[NONE].name, "none");
        assert_string_equal(offers[NOW].name, "now");
        assert_string_equal(offers[HOUR].name, "max-1h");
        assert_string_equal(offers[QUANTILE].name, "p99-24h");
        assert_string_equal(offers[ORACLE].name, "oracle");
        assert_int_equal(offer_count, OFFERS);
}

TEST(offers_rise_in_steps_and_fall_at_once) {
        static const struct {
                double offered, room, next;
        } rows[] = {{0, 7, 2}, {4, 5, 5}, {4, 7, 6}, {6, 1, 1}, {6, -3, 0}, {0, -3, 0}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_true(offer_next(rows[i].offered, rows[i].room) == rows[i].next);
}

TEST(what_is_foreseen) {
        enum { SECONDS = 2 * OFFER_FORESEEN_S + 500 };
        static double used[SECONDS], foreseen[SECONDS];

        for (size_t i = 0; i < SECONDS; i++)
                used[i] = chance_uniform(1, i) * (double)(i % 700);
        offer_foresee(used, SECONDS, foreseen);
        for (size_t i = 0; i < SECONDS; i++) {
                double most = 0;
                for (size_t at = i; at < SECONDS && at < i + OFFER_FORESEEN_S; at++)
                        most = fmax(most, used[at]);
                assert_true(foreseen[i] == most);
        }
}

TEST(a_queue_that_is_never_empty) {
        struct batch batch = {0};

        batch_start(&batch, 1.9);
        assert_int_equal(batch.count, 0);
        batch_start(&batch, 5.9);
        assert_int_equal(batch.count, 2);
        for (size_t s = 0; s < 900; s++)
                batch_pass(&batch, 4);
        batch_start(&batch, 6);
        assert_int_equal(batch.count, 3);
        batch_start(&batch, 0); /* nothing is evicted */
        for (size_t s = 0; s < 899; s++)
                batch_pass(&batch, 6);
        assert_int_equal(batch.count, 3);
        batch_pass(&batch, 6); /* half an hour of the first two */
        assert_int_equal(batch.count, 1);
        for (size_t s = 0; s < 2 * 900 - 1; s++)
                batch_pass(&batch, 1); /* half as fast */
        assert_int_equal(batch.count, 1);
        batch_pass(&batch, 1);
        assert_int_equal(batch.count, 0);
        batch_pass(&batch, 0);
        assert_true(batch_wanted_cores(&batch) == 0);
}

TEST(slots_are_had_again) {
        const struct scenario scenario = {.shape_count = 2, .shapes = {{1, 8}, {2, 16}}};
        _cleanup_(demand_freep) struct demand *demand = demand_new(&scenario);
        struct pod pods[3] = {{.node = 2, .request_cores = 1, .now_cores = 1},
                              {.node = 2, .request_cores = 2, .now_cores = 2},
                              {.node = 2, .request_cores = 3, .now_cores = 3}};
        const struct demand_node *node = &demand->nodes[2];

        assert_int_equal(demand->node_count, 3);
        assert_true(demand->nodes[0].cores == 8 && node->cores == 16);
        demand_record(demand, &pods[0], 1);
        demand_record(demand, &pods[1], 1);
        pods[0].now_cores = 0;
        demand_record(demand, &pods[0], 2);
        demand_record(demand, &pods[2], 3);
        pods[1].now_cores = 1.5;
        demand_record(demand, &pods[1], 4);
        static const struct demand_change changes[] = {
                {1, 0, 1, 1}, {1, 1, 2, 2}, {2, 0, 1, 0}, {3, 0, 3, 3}, {4, 1, 2, 1.5}};
        assert_int_equal(node->count, ARRAY_LEN(changes));
        for (size_t i = 0; i < node->count; i++) {
                assert_int_equal(node->changes[i].at_s, changes[i].at_s);
                assert_int_equal(node->changes[i].slot, changes[i].slot);
                assert_true(node->changes[i].request_cores == changes[i].request_cores);
                assert_true(node->changes[i].cores == changes[i].cores);
        }
        assert_int_equal(demand->nodes[0].count + demand->nodes[1].count, 0);
}

/* A node of 16 cores, and a service that requests 8 of them: two hours that are not measured, and
 * one that is. */
static void lay_beside(double cores, double later_cores, int64_t later_s,
                       struct idle_outcome *ret) {
        const struct scenario scenario = {
                .shape_count = 1, .shapes = {{1, 16}}, .warm_up_s = 7200, .measured_s = 3600};
        _cleanup_(demand_freep) struct demand *demand = demand_new(&scenario);
        struct pod pod = {.request_cores = 8, .now_cores = cores};

        demand_record(demand, &pod, 1);
        pod.now_cores = later_cores;
        demand_record(demand, &pod, later_s);
        idle_lay(demand, &scenario, 1, ret);
}

TEST(batch_beside_a_steady_service) {
        struct idle_outcome of[OFFERS];

        lay_beside(4, 4, 9000, of);
        for (size_t o = 0; o < OFFERS; o++) {
                double batch_cores = o == NONE ? 0 : 6; /* 0.65 x 16 - 4 is room for three */
                assert_true(is_near(of[o].of[IDLE_BATCH_CORE_S], 3600 * batch_cores));
                assert_true(is_near(of[o].of[IDLE_SERVICES_CORE_S], 3600 * 4));
                assert_true(is_near(of[o].of[IDLE_MEAN_UTILISATION], (4 + batch_cores) / 16));
                assert_true(of[o].of[IDLE_THROTTLED_CORE_S] == 0);
                assert_true(of[o].of[IDLE_HOT_NODE_MINUTES] == 0);
                assert_true(is_near(of[o].of[IDLE_NODE_MINUTES], 60));
        }
}

/* It begins to use 14 cores in the middle of the hour. The oracle has nothing left then, of all
 * others each pod ends by and by; until then they get what the service leaves, 2 cores. */
TEST(batch_beside_a_service_that_changes) {
        struct idle_outcome of[OFFERS];

        lay_beside(4, 14, 9000, of);
        double late_s = 10800 - 9000 + 1;
        for (size_t o = 0; o < OFFERS; o++) {
                double batch_core_s = of[o].of[IDLE_BATCH_CORE_S];
                assert_true(is_near(of[o].of[IDLE_THROTTLED_CORE_S], 0));
                assert_true(is_near(of[o].of[IDLE_HOT_NODE_MINUTES], late_s / 60));
                assert_true(is_near(of[o].of[IDLE_MEAN_UTILISATION] * 16 * 3600,
                                    of[o].of[IDLE_SERVICES_CORE_S] + batch_core_s));
                if (o != NONE && o != ORACLE)
                        assert_true(batch_core_s > 6 * (3600 - late_s) &&
                                    batch_core_s <= 6 * (3600 - late_s) + 2 * late_s);
        }
        assert_true(of[ORACLE].of[IDLE_BATCH_CORE_S] <= 6 * (3600 - late_s));
        assert_true(of[HOUR].of[IDLE_BATCH_CORE_S] <= of[NOW].of[IDLE_BATCH_CORE_S]);
}

/* It wants more than there is. Three batch pods have the weight of 3, the service that of 8 cores;
 * without them it gets all 16. */
TEST(throttling) {
        struct idle_outcome of[OFFERS];

        lay_beside(4, 20, 10800, of);
        double batch_cores = 16 * 3 / (3 + cpu_weight(8));
        assert_true(is_near(of[NONE].of[IDLE_THROTTLED_CORE_S], 4));
        assert_true(is_near(of[HOUR].of[IDLE_THROTTLED_CORE_S], 4 + batch_cores));
        assert_true(is_near(of[HOUR].of[IDLE_BATCH_CORE_S], 6 * 3599 + batch_cores));
        assert_true(is_near(of[HOUR].of[IDLE_SERVICES_CORE_S], 4 * 3599 + 20));
        assert_true(is_near(of[ORACLE].of[IDLE_THROTTLED_CORE_S], 4));
}
