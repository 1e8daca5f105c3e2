/* Writing before a node's turn: when, what, and how many patches that takes. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/fixture/plan_fixture.h"

enum { CPU, CPU_MAX_1H, CPU_MAX_1D, MEM, MEM_MAX_1H, MEM_MAX_1D, METRICS };

/* Since the last write: too short a time, and long enough. */
enum { SOON_MS = PLAN_EARLY_GAP_MS - 1, LATER_MS = PLAN_EARLY_GAP_MS + 10000 };

#define BIT(metric) (UINT64_C(1) << (metric))

/* Everything was written with 0.50 at age_ms ago, and is still that but for one or two metrics. */
TEST(when_and_what) {
        static const struct {
                const char *what;
                double delta, cpu, cpu_max, mem;
                int64_t age_ms;
                uint64_t usable, provisional;
                bool is_early;
                uint64_t expected; /* at that moment, early or not */
        } rows[] = {
                {"nothing moved", .1, .5, .5, .5, 60000, 63, 0, false, 0},
                {"less than the delta", .1, .5999, .5, .5, LATER_MS, 63, 0, false, 0},
                {"up", .1, .61, .5, .5, LATER_MS, 63, 0, true, BIT(CPU)},
                {"down", .1, .39, .5, .5, LATER_MS, 63, 0, true, BIT(CPU)},
                {"memory", .1, .5, .5, .61, LATER_MS, 63, 0, true, BIT(MEM)},
                {"too soon", .1, .9, .5, .5, SOON_MS, 63, 0, false, 0},
                {"just in time", .1, .9, .5, .5, PLAN_EARLY_GAP_MS, 63, 0, true, BIT(CPU)},
                {"what is due goes along", .1, .61, .5, .5, 60000, 63, 0, true,
                 BIT(CPU) | BIT(MEM)},
                {"a maximum that moved as far goes along", .1, .61, .61, .5, LATER_MS, 63, 0, true,
                 BIT(CPU) | BIT(CPU_MAX_1H)},
                {"a maximum alone is no reason", .1, .5, .9, .5, LATER_MS, 63, 0, false, 0},
                {"a maximum alone, at a turn", .1, .52, .9, .5, 180000, 63, 0, false,
                 BIT(CPU) | BIT(MEM)},
                {"half a window is needed", .1, .9, .5, .5, LATER_MS, 63, BIT(CPU), false, 0},
                {"not usable", .1, .9, .5, .5, LATER_MS, 62, 0, false, 0},
                {"another delta", .3, .79, .5, .5, LATER_MS, 63, 0, false, 0},
                {"another delta, reached", .3, .81, .5, .5, LATER_MS, 63, 0, true, BIT(CPU)},
                {"switched off", 0, 1, .5, .5, LATER_MS, 63, 0, false, 0},
                {"below the dead band of 0.01", .005, .506, .5, .5, LATER_MS, 63, 0, true,
                 BIT(CPU)},
                {"a clock that is a little ahead", .1, .9, .5, .5, -PLAN_EARLY_GAP_MS, 63, 0, false,
                 0},
                {"annotations an hour ahead of us", .1, .9, .5, .5, -MS_PER_HOUR, 63, 0, false, 63},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned p;
                planned_init(&p, 0.01, rows[i].delta);
                planned_write(&p, start_unix_ms - rows[i].age_ms);

                p.values.ratio[CPU] = rows[i].cpu;
                p.values.ratio[CPU_MAX_1H] = rows[i].cpu_max;
                p.values.ratio[MEM] = rows[i].mem;
                p.values.usable = rows[i].usable;
                p.values.provisional = rows[i].provisional;
                bool is_early = planned_is_early(&p, start_unix_ms);
                struct plan_choice choice = planned_choose(&p, start_unix_ms);
                if (is_early != rows[i].is_early || choice.metrics != rows[i].expected)
                        fail_msg("%s: early %d, metrics %llx", rows[i].what, is_early,
                                 (unsigned long long)choice.metrics);
        }
}

/* What was never written is overdue, not early; what the policy does not write is neither. */
TEST(never_written) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0.1);
        all_usable(&p.policy, &p.values, 0.9);
        assert_false(planned_is_early(&p, start_unix_ms));
        p.record->metrics[CPU] = (struct plan_written){.value = 0.1,
                                                       .at_unix_ms = start_unix_ms - LATER_MS};
        assert_true(planned_is_early(&p, start_unix_ms));
        p.policy.metrics[CPU].period_ms = 0;
        assert_false(planned_is_early(&p, start_unix_ms));
}

/* Another source has the value, and its newest sample is older than what was written. */
TEST(older_sample) {
        _cleanup_(planned_done) struct planned p;
        int64_t now_unix_ms = start_unix_ms + LATER_MS;

        planned_init(&p, 0.01, 0.1);
        planned_write(&p, start_unix_ms);
        p.values.ratio[CPU] = 0.9;
        p.values.age_ms[CPU] = LATER_MS + 5 * MS_PER_S;
        assert_false(planned_is_early(&p, now_unix_ms));
        p.values.age_ms[CPU] = PLAN_EARLY_GAP_MS;
        assert_true(planned_is_early(&p, now_unix_ms));
}

/* One metric was written a moment ago, because it was missing: the node waits all the same. */
TEST(gap_is_the_nodes) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0.1);
        planned_write(&p, start_unix_ms);
        p.record->metrics[MEM_MAX_1D].at_unix_ms = start_unix_ms + PLAN_EARLY_GAP_MS;
        p.values.ratio[CPU] = 0.9;
        assert_false(planned_is_early(&p, start_unix_ms + LATER_MS));
        assert_true(planned_is_early(&p, start_unix_ms + 2 * PLAN_EARLY_GAP_MS));
}

/* An hour of a cluster: loads, 5-minute means of them every 15 s, turns and early patches. */

enum { NODES = 100, SCRAPE_S = 15, SCRAPES = 20, BEGIN_S = 600, HOUR_S = 3600 };

struct hour {
        double (*load)(double before, int at_s); /* of a node, from 15 s to 15 s */
        double delta;
        double patches_per_min, early_per_min; /* of a node */
        double mean_error;                     /* of what stands on the nodes */
};

static double random_share(void) {
        return (double)rand() / RAND_MAX; // NOLINT(cert-msc30-c,cert-msc50-cpp)
}

static double still(double before, int at_s) {
        return before == 0 ? 0.4 : before;
}

/* From 0.2 to 0.8 half way, for good. */
static double jump(double before, int at_s) {
        return at_s < BEGIN_S + HOUR_S / 2 ? 0.2 : 0.8;
}

/* The sum of forty pods that vary by a fifth, each redrawn every two minutes or so. */
static double noise(double before, int at_s) {
        double load = 0.5;

        if (at_s % 120 != 0)
                return before;
        for (int i = 0; i < 12; i++)
                load += (random_share() - 0.5) * 0.5 * 0.2 / sqrt(40);
        return load;
}

/* Pods that come and go on a busy node: a tenth of its CPUs every five minutes. */
static double churn(double before, int at_s) {
        if (before == 0)
                return 0.5;
        if (random_share() > (double)SCRAPE_S / 300)
                return noise(0, 0) - 0.5 + before;
        return fmin(1, fmax(0, before + (random_share() < 0.5 ? -0.1 : 0.1)));
}

struct node_hour {
        char name[32];
        struct plan_record *record;
        double load, shown[SCRAPES];
        int64_t last_unix_ms, turn_unix_ms;
};

static void send(const struct plan *plan, struct node_hour *node, const struct plan_values *values,
                 int64_t now_unix_ms, size_t *count) {
        struct plan_choice choice = plan_choose(plan, node->record, values, now_unix_ms);

        if (plan_choice_is_empty(&choice))
                return;
        plan_confirm(node->record, &choice, values, now_unix_ms);
        node->last_unix_ms = now_unix_ms;
        (*count)++;
}

static void run_node(const struct plan *plan, struct hour *hour, struct node_hour *node,
                     size_t *patches, size_t *early) {
        struct plan_values values = {.usable = BIT(CPU)};

        node->turn_unix_ms = plan_first_sync_unix_ms(plan, node->name, start_unix_ms);
        for (int at_s = 0; at_s < BEGIN_S + HOUR_S; at_s += SCRAPE_S) {
                int64_t now_unix_ms = start_unix_ms + at_s * MS_PER_S;
                size_t ignored = 0;
                bool is_counted = at_s >= BEGIN_S;
                double sum = 0;

                /* The turns since the scrape before, with its values. */
                for (; node->turn_unix_ms < now_unix_ms;
                     node->turn_unix_ms =
                             plan_next_sync_unix_ms(plan, node->name, node->turn_unix_ms))
                        send(plan, node, &values, node->turn_unix_ms,
                             is_counted ? patches : &ignored);
                node->load = hour->load(node->load, at_s);
                node->shown[at_s / SCRAPE_S % SCRAPES] = node->load;
                for (int i = 0; i < SCRAPES; i++)
                        sum += node->shown[i];
                values.ratio[CPU] = at_s < 300 ? node->load : sum / SCRAPES;
                if (plan_is_early(plan, node->record, &values, now_unix_ms)) {
                        assert_true(now_unix_ms - node->last_unix_ms >= PLAN_EARLY_GAP_MS);
                        send(plan, node, &values, now_unix_ms, is_counted ? patches : &ignored);
                        assert_int_equal(node->last_unix_ms, now_unix_ms);
                        *early += is_counted;
                }
                if (is_counted)
                        hour->mean_error += fabs(values.ratio[CPU] -
                                                 node->record->metrics[CPU].value) *
                                            SCRAPE_S / HOUR_S / NODES;
        }
}

static void run_hour(struct hour *hour) {
        struct policy policy;
        struct plan plan;
        size_t patches = 0, early = 0;

        fill_policy(&policy);
        plan_init(&plan, &policy, 0.01, hour->delta);
        srand(1); // NOLINT(cert-msc32-c,cert-msc51-cpp)
        for (int n = 0; n < NODES; n++) {
                struct node_hour node = {.record = plan_record_new(&plan)};
                snprintf(node.name, sizeof(node.name), "node-%d", n);
                run_node(&plan, hour, &node, &patches, &early);
                free(node.record);
        }
        hour->patches_per_min = (double)patches / NODES / 60;
        hour->early_per_min = (double)early / NODES / 60;
}

TEST(patches_of_an_hour) {
        static const struct {
                const char *what;
                double (*load)(double before, int at_s);
                double most_per_min; /* patches of a node, those at turns and the early ones */
        } rows[] = {
                {"still", still, 1.0 / 6},
                {"jump", jump, 1.0 / 6 + 6.0 / 60},
                {"noise", noise, 1.0 / 3},
                {"churn", churn, 1.0 / 3 + 0.1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct hour at_turns = {.load = rows[i].load};
                struct hour early = {.load = rows[i].load, .delta = 0.1};
                run_hour(&at_turns);
                run_hour(&early);
                print_message("%s: %.3f patches a node and minute, %.4f off; with early ones %.3f "
                              "(%.3f early), %.4f off\n",
                              rows[i].what, at_turns.patches_per_min, at_turns.mean_error,
                              early.patches_per_min, early.early_per_min, early.mean_error);
                assert_true(at_turns.early_per_min == 0);
                assert_true(early.patches_per_min <= rows[i].most_per_min + 0.01);
                assert_true(early.mean_error <= at_turns.mean_error);
                if (rows[i].load == still || rows[i].load == noise) {
                        assert_true(early.early_per_min == 0);
                        assert_true(early.patches_per_min == at_turns.patches_per_min);
                } else {
                        assert_true(early.mean_error < at_turns.mean_error * 0.9);
                }
        }
}
