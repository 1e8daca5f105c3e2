/* Patches that wait: their order, and what becomes of nodes when the budget is short. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/writing/patch_queue.h"
#include "policy/annotation.h"
#include "tests/unit/fixture/plan_fixture.h"

TEST(order) {
        struct patch_queue queue;
        struct patch_place places[5] = {0};

        patch_queue_init(&queue);
        assert_null(patch_queue_pop(&queue));
        patch_queue_drop(&queue, &places[0]); /* was not there */
        patch_queue_put(&queue, &places[0], 0);
        patch_queue_put(&queue, &places[1], 63);
        patch_queue_put(&queue, &places[2], 7);
        patch_queue_put(&queue, &places[3], 7);
        patch_queue_put(&queue, &places[4], 7);
        assert_int_equal(queue.len, 5);
        patch_queue_put(&queue, &places[2], 7);  /* keeps its place */
        patch_queue_put(&queue, &places[1], 1);  /* down */
        patch_queue_put(&queue, &places[4], 63); /* up */
        patch_queue_drop(&queue, &places[0]);
        assert_int_equal(queue.len, 4);
        assert_ptr_equal(patch_queue_pop(&queue), &places[4]);
        assert_ptr_equal(patch_queue_pop(&queue), &places[2]);
        assert_ptr_equal(patch_queue_pop(&queue), &places[3]);
        patch_queue_put(&queue, &places[3], 0);
        assert_ptr_equal(patch_queue_pop(&queue), &places[1]);
        assert_ptr_equal(patch_queue_pop(&queue), &places[3]);
        assert_null(patch_queue_pop(&queue));
        assert_int_equal(queue.len, 0);
}

/* A cluster whose loads wander, with a writer of so many patches a second. */
enum { READING_MS = 15000, STEP_MS = 1000, WARM_UP_STEPS = 600, STEPS = 2400, PATCHES_PER_S = 1 };

struct sim_node {
        struct patch_place place;
        struct plan_record *record;
        struct plan_values values;
        char name[32];
        int64_t taken_unix_ms;
        double swing;
};

struct sim {
        struct policy policy;
        struct plan plan;
        struct patch_queue queue;
        struct sim_node *nodes;
        size_t count;
        double patches_per_s, tokens;
        int64_t now_unix_ms;
        uint64_t random;
        size_t expired, sent;
        double sent_change, left_change; /* sums over the steps */
};

static double draw(struct sim *sim) {
        sim->random ^= sim->random << 13;
        sim->random ^= sim->random >> 7;
        sim->random ^= sim->random << 17;
        return (double)(sim->random % 100000) / 100000;
}

static struct plan_due due_on(const struct sim *sim, const struct sim_node *node) {
        int64_t turn_unix_ms = plan_turn_unix_ms(&sim->plan, node->name, node->taken_unix_ms,
                                                 sim->now_unix_ms);

        return plan_due(&sim->plan, node->record, &node->values, turn_unix_ms, sim->now_unix_ms);
}

/* A fifth of the nodes moves far. */
static void read_node(struct sim *sim, struct sim_node *node) {
        for (size_t i = 0; i < sim->policy.metric_count; i++) {
                double ratio = node->values.ratio[i] + node->swing * (draw(sim) - 0.5);
                node->values.ratio[i] = fmin(fmax(ratio, 0), 0.6); /* below the limit */
        }
        struct plan_due due = due_on(sim, node);
        if (plan_due_is_empty(&due))
                node->taken_unix_ms = sim->now_unix_ms;
        else
                patch_queue_put(&sim->queue, &node->place, due.urgency);
}

static void sim_init(struct sim *sim, size_t count, double patches_per_s) {
        *sim = (struct sim){.count = count,
                            .patches_per_s = patches_per_s,
                            .now_unix_ms = start_unix_ms,
                            .random = 88172645463325252};
        fill_policy(&sim->policy);
        plan_init(&sim->plan, &sim->policy);
        sim->plan.is_short = count > plan_due_nodes_alive(&sim->plan, patches_per_s);
        patch_queue_init(&sim->queue);
        sim->nodes = xcalloc(count, sizeof(*sim->nodes));
        for (size_t i = 0; i < count; i++) {
                struct sim_node *node = &sim->nodes[i];
                node->record = plan_record_new(&sim->plan);
                (void)snprintf(node->name, sizeof(node->name), "node-%zu", i);
                node->taken_unix_ms = start_unix_ms;
                node->swing = i % 5 == 0 ? 0.2 : 0.005;
                all_usable(&sim->policy, &node->values, 0.1 + 0.4 * draw(sim));
        }
}

static void sim_done(struct sim *sim) {
        for (size_t i = 0; i < sim->count; i++)
                free(sim->nodes[i].record);
        free(sim->nodes);
}

static double cpu_change(const struct sim_node *node) {
        return fabs(node->values.ratio[0] - node->record->metrics[0].value);
}

static void send_some(struct sim *sim) {
        for (sim->tokens += sim->patches_per_s * STEP_MS / MS_PER_S; sim->tokens >= 1;) {
                struct patch_place *place = patch_queue_pop(&sim->queue);
                if (!place)
                        break;
                struct sim_node *node = CONTAINER_OF(place, struct sim_node, place);
                struct plan_due due = due_on(sim, node);
                node->taken_unix_ms = sim->now_unix_ms;
                if (plan_due_is_empty(&due))
                        continue;
                sim->sent++;
                sim->sent_change += cpu_change(node);
                plan_confirm(node->record, &due, &node->values, sim->now_unix_ms);
                sim->tokens -= 1;
        }
        sim->tokens = fmin(sim->tokens, sim->patches_per_s);
}

static bool is_expired(const struct sim *sim, const struct sim_node *node) {
        for (size_t i = 0; i < sim->policy.metric_count; i++) {
                int64_t stamp_unix_ms = node->record->metrics[i].stamp_unix_ms;
                if (stamp_unix_ms == PLAN_NEVER ||
                    annotation_expires_unix_ms(stamp_unix_ms, sim->policy.metrics[i].period_ms) <=
                            sim->now_unix_ms)
                        return true;
        }
        return false;
}

static void sim_run(struct sim *sim) {
        for (int step = 0; step < STEPS; step++) {
                sim->now_unix_ms += STEP_MS;
                for (size_t i = 0; i < sim->count; i++) {
                        struct sim_node *node = &sim->nodes[i];
                        if ((step + (int)i) % (READING_MS / STEP_MS) == 0)
                                read_node(sim, node);
                }
                send_some(sim);
                for (size_t i = 0; i < sim->count && step >= WARM_UP_STEPS; i++) {
                        sim->expired += is_expired(sim, &sim->nodes[i]);
                        sim->left_change += cpu_change(&sim->nodes[i]) / (double)sim->count /
                                            (STEPS - WARM_UP_STEPS);
                }
        }
}

static size_t count_alive(double patches_per_s) {
        struct policy policy;
        struct plan plan;

        fill_policy(&policy);
        plan_init(&plan, &policy);
        return plan_due_nodes_alive(&plan, patches_per_s);
}

/* Nobody's value expires as long as the budget can carry that. What is sent has changed more than
 * what is left, though most patches only keep a value from expiring. */
TEST(none_expires) {
        static const double loads[] = {0.3, 0.5, 0.9, 0.99};

        for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
                struct sim sim;
                sim_init(&sim, (size_t)(loads[i] * (double)count_alive(PATCHES_PER_S)),
                         PATCHES_PER_S);
                sim_run(&sim);
                double sent_change = sim.sent_change / (double)sim.sent;
                print_message("%.2f of what can be kept: %zu expired; changed by %.4f when sent, "
                              "by %.4f otherwise\n",
                              loads[i], sim.expired, sent_change, sim.left_change);
                assert_int_equal(sim.expired, 0);
                assert_true(sent_change > 2 * sim.left_change);
                sim_done(&sim);
        }
}

/* With more nodes than can be kept, the busy ones keep their values, and nearly as many as can. */
TEST(busy_ones_are_kept) {
        size_t alive = count_alive(PATCHES_PER_S), kept = 0;
        double kept_ratio = 0, lost_ratio = 0;
        struct sim sim;

        sim_init(&sim, 2 * alive, PATCHES_PER_S);
        sim_run(&sim);
        for (size_t i = 0; i < sim.count; i++) {
                bool is_kept = !is_expired(&sim, &sim.nodes[i]);
                kept += is_kept;
                *(is_kept ? &kept_ratio : &lost_ratio) += sim.nodes[i].values.ratio[0];
        }
        kept_ratio /= (double)kept;
        lost_ratio /= (double)(sim.count - kept);
        print_message(
                "twice as many: %zu of %zu kept, whose mean is %.2f; that of the others %.2f\n",
                kept, sim.count, kept_ratio, lost_ratio);
        assert_true((double)kept > 0.9 * (double)alive);
        assert_true(kept_ratio > lost_ratio + 0.1);
        sim_done(&sim);
}
