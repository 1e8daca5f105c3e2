/* What is written on a node and when: a simulated day, and the odd cases one by one. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/node/spread.h"
#include "controller/track/plan.h"
#include "tests/unit/fixture/plan_fixture.h"

enum { DAY_NODES = 5000, DAY_START_SPREAD_S = 100 };

struct day {
        bool is_busy; /* every value moves beyond the dead band from sync to sync */
        double patches_per_node;
        int peak_per_s; /* after the start */
        int64_t oldest_ms[6];
        double keys_per_patch;
};

/* Every node's first write comes as the rate limit of 50/s allows, and then its syncs for a day. */
static void simulate_day(struct day *day) {
        static int per_s[86400 + 600];
        struct policy policy;
        struct plan plan;
        struct plan_values values;
        size_t patches = 0, keys = 0;

        fill_policy(&policy);
        plan_init(&plan, &policy, 0.01, 0);
        memset(per_s, 0, sizeof(per_s));
        memset(day->oldest_ms, 0, sizeof(day->oldest_ms));
        all_usable(&policy, &values, 0.5);
        for (int n = 0; n < DAY_NODES; n++) {
                char name[32];
                _cleanup_(freep) struct plan_record *record = plan_record_new(&plan);
                int64_t now = start_unix_ms + n * DAY_START_SPREAD_S * MS_PER_S / DAY_NODES;
                int64_t last_sync = INT64_MIN, last_period = INT64_MIN;

                snprintf(name, sizeof(name), "node-%d", n);
                assert_true(plan_is_overdue(&plan, record, &values, now));
                for (int turn = 0; now < start_unix_ms + MS_PER_DAY; turn++) {
                        if (day->is_busy)
                                for (size_t i = 0; i < policy.metric_count; i++)
                                        values.ratio[i] = turn % 2 ? 0.30 : 0.32;
                        /* Never two turns within half a period, nor more than one period apart. */
                        if (last_sync != INT64_MIN)
                                assert_in_range(now - last_sync, plan.sync_ms / 2,
                                                plan.sync_ms + plan.sync_ms / 16);
                        last_sync = now;
                        int64_t late = now + turn % 7 * 300; /* timers and queues are late */
                        struct plan_choice choice = plan_choose(&plan, record, &values, late);
                        if (!plan_choice_is_empty(&choice)) {
                                /* At most one in each period between the node's instants. */
                                int64_t period = (late - spread_phase_ms(name, 0, plan.sync_ms)) /
                                                 plan.sync_ms;
                                assert_true(period > last_period);
                                last_period = period;
                                patches++;
                                keys += plan_choice_count(&choice);
                                per_s[(late - start_unix_ms) / MS_PER_S]++;
                        }
                        for (size_t i = 0; i < policy.metric_count; i++) {
                                if (turn == 0)
                                        continue;
                                int64_t age = late - record->metrics[i].at_unix_ms;
                                if (age > day->oldest_ms[i])
                                        day->oldest_ms[i] = age;
                        }
                        plan_confirm(record, &choice, &values, late);
                        now = plan_next_sync_unix_ms(&plan, name, late);
                }
        }
        day->patches_per_node = (double)patches / DAY_NODES;
        day->keys_per_patch = (double)keys / (double)patches;
        day->peak_per_s = 0;
        for (int s = 600; s < 86400; s++)
                if (per_s[s] > day->peak_per_s)
                        day->peak_per_s = per_s[s];
}

TEST(busy_day) {
        struct day day = {.is_busy = true};

        simulate_day(&day);
        print_message("busy: %.1f patches a node and day, %.2f keys each, at most %d/s of %d\n",
                      day.patches_per_node, day.keys_per_patch, day.peak_per_s, DAY_NODES);
        /* One per node and 3 minutes, plus the two of the start. */
        assert_true(day.patches_per_node <= 480 + 2);
        /* 27.8/s on average; a Poisson spread stays below twice that. */
        assert_true(day.peak_per_s < 60);
        /* Never older than its period, but for the sixteenth of a sync that is forgiven and the
         * seconds that timers are late here. */
        static const int64_t periods[] = {3 * MS_PER_MIN, 15 * MS_PER_MIN, 3 * MS_PER_HOUR};
        for (size_t i = 0; i < 6; i++)
                assert_in_range(day.oldest_ms[i], 0,
                                periods[i % 3] + 3 * MS_PER_MIN / 16 + 3 * MS_PER_S);
}

TEST(idle_day) {
        struct day day = {.is_busy = false};

        simulate_day(&day);
        print_message("idle: %.1f patches a node and day, %.2f keys each, at most %d/s of %d\n",
                      day.patches_per_node, day.keys_per_patch, day.peak_per_s, DAY_NODES);
        /* A sixth of crane's 292 in 3 hours. */
        assert_true(day.patches_per_node < 292.0 * 8 / 6);
        /* Always rewritten while readers still use it: period + 5 min, with a minute in hand. */
        static const int64_t periods[] = {3 * MS_PER_MIN, 15 * MS_PER_MIN, 3 * MS_PER_HOUR};
        for (size_t i = 0; i < 6; i++)
                assert_true(day.oldest_ms[i] <= periods[i % 3] + 4 * MS_PER_MIN + 3 * MS_PER_S);
}

TEST(spread) {
        enum { SECONDS = 180, NODES = 5000 };
        static int seen[SECONDS];

        for (int n = 0; n < NODES; n++) {
                char name[32];
                snprintf(name, sizeof(name), "node-%05d", n);
                int64_t phase = spread_phase_ms(name, 0, SECONDS * MS_PER_S);
                assert_in_range(phase, 0, SECONDS * MS_PER_S - 1);
                seen[phase / MS_PER_S]++;
        }
        for (int s = 0; s < SECONDS; s++)
                assert_in_range(seen[s], 5, 60); /* 27.8 on average, 4 sigma is 21 */
}

TEST(next_sync) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0);
        assert_int_equal(p.plan.sync_ms, 3 * MS_PER_MIN);
        for (int64_t offset = 0; offset < 2 * p.plan.sync_ms; offset += 997) {
                int64_t now = start_unix_ms + offset;
                int64_t grid = plan_first_sync_unix_ms(&p.plan, "node-a", now);
                assert_in_range(grid - now, 0, p.plan.sync_ms - 1);
                int64_t next = plan_next_sync_unix_ms(&p.plan, "node-a", now);
                assert_in_range(next - now, p.plan.sync_ms / 2,
                                p.plan.sync_ms + p.plan.sync_ms / 16);
                /* The second turn at the latest stands on the node's grid. */
                int64_t second = plan_next_sync_unix_ms(&p.plan, "node-a", next);
                assert_int_equal((second - grid) % p.plan.sync_ms, 0);
        }
        /* Before the epoch as well, should a clock be that wrong. */
        assert_in_range(plan_first_sync_unix_ms(&p.plan, "node-a", -12345) + 12345, 0,
                        p.plan.sync_ms - 1);
}

TEST(policy_without_periods) {
        struct policy policy = {0};
        struct plan plan;
        struct plan_values values;

        add_metric(&policy, "cpu_usage_avg_5m", 0);
        plan_init(&plan, &policy, 0.01, 0);
        assert_int_equal(plan.sync_ms, PLAN_SYNC_DEFAULT_MS);
        all_usable(&policy, &values, 0.5);
        _cleanup_(freep) struct plan_record *record = plan_record_new(&plan);
        struct plan_choice choice = plan_choose(&plan, record, &values, start_unix_ms);
        assert_true(plan_choice_is_empty(&choice)); /* period 0: kept, never written */
        assert_false(plan_is_overdue(&plan, record, &values, start_unix_ms));

        policy.metrics[0].period_ms = 1; /* a period that nobody can want */
        plan_init(&plan, &policy, 0.01, 0);
        assert_int_equal(plan.sync_ms, PLAN_SYNC_MIN_MS);
}

/* One sync, 3 minutes after everything was written with 0.50 and no hot value. */
TEST(choose) {
        static const struct {
                const char *what;
                double ratio;
                uint64_t usable;
                int64_t age_ms;
                bool has_hot;
                int64_t hot;
                double hot_written;
                uint64_t expected;
                bool expected_hot;
        } rows[] = {
                {"within the dead band", 0.505, 63, 180000, true, 0, 0, 0, false},
                {"beyond it: both 5m metrics go", 0.52, 63, 180000, true, 0, 0, 9, true},
                {"a second period unchanged: its time is up", 0.5, 63, 360000, true, 0, 0, 9, true},
                {"15 minutes: still in the dead band", 0.5, 63, 900000, false, 0, 0, 27, false},
                {"nothing is usable", 0.9, 0, 360000, false, 0, 0, 0, false},
                {"nothing is usable, but pods came", 0.9, 0, 180000, true, 3, 0, 0, true},
                {"memory alone", 0.9, 56, 180000, false, 0, 0, 8, false},
                {"an early turn: what would not last to the next", 0.9, 63, 60000, false, 0, 0, 9,
                 false},
                {"a hot value takes what is due along", 0.5, 63, 180000, true, 2, 0, 9, true},
                {"a hot value that cooled down", 0.5, 63, 180000, true, 0, 2, 9, true},
                {"one that stays must not expire", 0.5, 63, 180000, true, 2, 2, 9, true},
                {"one that expired reads as 0", 0.5, 63, 301000, false, 0, 2, 9, false},
                {"bindings are not being counted", 0.5, 63, 180000, false, 7, 2, 0, false},
                {"annotations an hour ahead of us", 0.5, 63, -3600000, false, 0, 0, 63, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned p;
                planned_init(&p, 0.01, 0);
                assert_int_equal(plan_choose_all(&p.plan, &p.values).metrics, 63);
                planned_write(&p, start_unix_ms - rows[i].age_ms);
                p.record->hot = (struct plan_written){.value = rows[i].hot_written,
                                                      .at_unix_ms = start_unix_ms - rows[i].age_ms};

                all_usable(&p.policy, &p.values, rows[i].ratio);
                p.values.usable = rows[i].usable;
                p.values.has_hot = rows[i].has_hot;
                p.values.hot = rows[i].hot;
                struct plan_choice choice = planned_choose(&p, start_unix_ms);
                if (choice.metrics != rows[i].expected || choice.has_hot != rows[i].expected_hot)
                        fail_msg("%s: metrics %llx, hot %d", rows[i].what,
                                 (unsigned long long)choice.metrics, choice.has_hot);
        }
}

TEST(crossing_a_limit) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0);
        all_usable(&p.policy, &p.values, 0.649);
        planned_write(&p, start_unix_ms);
        all_usable(&p.policy, &p.values, 0.651); /* less than the dead band, but above 65 % */
        struct plan_choice choice = planned_choose(&p, start_unix_ms + 3 * MS_PER_MIN);
        assert_int_equal(choice.metrics, 9);
}

/* A value at the limit is not above it; one that moved by the dead band has moved. */
TEST(just_there) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.25, 0);
        assert_false(plan_crosses_limit(&p.plan, 0, 0, 0.65, 0.6));
        assert_false(plan_crosses_limit(&p.plan, 0, 0, 0.6, 0.65));
        assert_true(plan_crosses_limit(&p.plan, 0, 0, 0.65, 0.66));
        assert_true(plan_crosses_limit(&p.plan, 0, 0, 0.66, 0.65));
        all_usable(&p.policy, &p.values, 0.25);
        planned_write(&p, start_unix_ms);
        all_usable(&p.policy, &p.values, 0.5);
        struct plan_choice choice = planned_choose(&p, start_unix_ms + 3 * MS_PER_MIN);
        assert_int_equal(choice.metrics, 9);
}

/* The limits of its pool, and of rules: those of other pools are nothing to it. */
TEST(limits_of_a_pool) {
        _cleanup_(planned_done) struct planned p;
        static const double all[] = {0.65, 0.8, 0.9, 0.95};
        static const unsigned by_pool[] = {1 | 8, 2 | 8, 4 | 8}; /* which of them, a bit each */

        planned_init(&p, 0.01, 0);
        for (size_t i = 1; i < ARRAY_LEN(all); i++)
                p.policy.predicates[i] = (struct policy_predicate){.limit_ratio = all[i]};
        p.policy.predicate_total = ARRAY_LEN(all);
        p.policy.pool_count = 2;
        p.policy.pools[0].predicates = (struct policy_range){1, 2};
        p.policy.pools[1].predicates = (struct policy_range){2, 3};
        p.policy.rule_count = 1;
        p.policy.rules[0].limits = (struct policy_range){3, 4};
        for (size_t pool = 0; pool < ARRAY_LEN(by_pool); pool++) {
                unsigned crossed = 0;
                for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                        double below = all[i] - 0.001, above = all[i] + 0.001;
                        crossed |= (unsigned)plan_crosses_limit(&p.plan, pool, 0, below, above)
                                   << i;
                        assert_false(plan_crosses_limit(&p.plan, pool, 1, below, above));
                }
                assert_int_equal(crossed, by_pool[pool]);
        }
}

TEST(overdue) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0);
        assert_true(planned_is_overdue(&p, start_unix_ms));
        planned_write(&p, start_unix_ms);
        assert_false(planned_is_overdue(&p, start_unix_ms));
        assert_false(planned_is_overdue(&p, start_unix_ms + 6 * MS_PER_MIN));
        assert_true(planned_is_overdue(&p, start_unix_ms + 7 * MS_PER_MIN));
        /* Somebody has taken one away. */
        p.record->metrics[5].at_unix_ms = PLAN_NEVER;
        assert_true(planned_is_overdue(&p, start_unix_ms));
        p.values.usable &= ~(UINT64_C(1) << 5);
        assert_false(planned_is_overdue(&p, start_unix_ms));
}

/* A quarter of a turn, 45 s at most, beyond the time for which a value within the dead band stays.
 */
TEST(overdue_by_a_part_of_the_turn) {
        static const struct {
                int64_t period_ms, most_ms;
        } rows[] = {{MS_PER_MIN, 135 * MS_PER_S},
                    {3 * MS_PER_MIN, 405 * MS_PER_S},
                    {4 * MS_PER_MIN, 465 * MS_PER_S}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned p;
                planned_init(&p, 0.01, 0);
                for (size_t m = 0; m < p.policy.metric_count; m++)
                        p.policy.metrics[m].period_ms = rows[i].period_ms;
                plan_init(&p.plan, &p.policy, 0.01, 0);
                planned_write(&p, start_unix_ms);
                assert_false(planned_is_overdue(&p, start_unix_ms + rows[i].most_ms));
                assert_true(planned_is_overdue(&p, start_unix_ms + rows[i].most_ms + 1000));
        }
}

/* A value that was missing comes moments after the others: it alone is written. */
TEST(a_late_value) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0);
        p.values.usable &= ~UINT64_C(1);
        struct plan_choice choice = planned_choose(&p, start_unix_ms);
        assert_int_equal(choice.metrics, p.values.usable);
        planned_confirm(&p, &choice, start_unix_ms);

        all_usable(&p.policy, &p.values, 0.7);
        int64_t now = start_unix_ms + 15 * MS_PER_S;
        assert_true(planned_is_overdue(&p, now));
        choice = planned_choose(&p, now);
        assert_int_equal(choice.metrics, 1);
        planned_confirm(&p, &choice, now);
        assert_false(planned_is_overdue(&p, now));

        /* The turn after that carries all of them. */
        now = plan_next_sync_unix_ms(&p.plan, "node-1", now);
        choice = planned_choose(&p, now);
        assert_int_equal(choice.metrics & 9, 9);
}

/* Timestamps are whole seconds: no two values of a metric get the same one. */
TEST(within_a_second) {
        int64_t second_unix_ms = start_unix_ms - start_unix_ms % MS_PER_S;
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0, 0);
        p.policy.metrics[0].period_ms = MS_PER_S;
        plan_init(&p.plan, &p.policy, 0, 0);
        planned_write(&p, second_unix_ms + 20);

        p.values.ratio[0] = 0.9;
        struct plan_choice choice = planned_choose(&p, second_unix_ms + 980);
        assert_int_equal(choice.metrics & 1, 0);
        choice = planned_choose(&p, second_unix_ms + MS_PER_S);
        assert_int_equal(choice.metrics & 1, 1);
        /* Nor does one get it whose newest sample is not newer: that of another source. */
        p.values.age_ms[0] = 990;
        choice = planned_choose(&p, second_unix_ms + MS_PER_S);
        assert_int_equal(choice.metrics & 1, 0);
}

/* A maximum of the first seconds does not stand for its whole period. */
TEST(provisional) {
        _cleanup_(planned_done) struct planned p;
        int64_t now = start_unix_ms;

        planned_init(&p, 0.01, 0);
        all_usable(&p.policy, &p.values, 0.9);
        p.values.provisional = 1u << 2 | 1u << 5; /* the maxima of a day */
        struct plan_choice choice = planned_choose(&p, now);
        planned_confirm(&p, &choice, now);

        /* As long as it is, there is nothing better to say. */
        now = plan_next_sync_unix_ms(&p.plan, "node-1", now);
        choice = planned_choose(&p, now);
        assert_int_equal(choice.metrics & (1u << 2 | 1u << 5), 0);
        planned_confirm(&p, &choice, now);

        /* Then it is corrected at the next turn, once, even if nothing else has a reason. */
        p.values.provisional = 0;
        p.values.ratio[2] = 0.2;
        now = plan_next_sync_unix_ms(&p.plan, "node-1", now);
        choice = planned_choose(&p, now);
        assert_int_equal(choice.metrics & (1u << 2 | 1u << 5), 1u << 2 | 1u << 5);
        planned_confirm(&p, &choice, now);
        p.values.ratio[2] = 0.7;
        now = plan_next_sync_unix_ms(&p.plan, "node-1", now);
        choice = planned_choose(&p, now);
        assert_int_equal(choice.metrics & (1u << 2 | 1u << 5), 0);
}

TEST(patch_text) {
        _cleanup_(planned_done) struct planned p;
        struct buf out = BUF_INIT(4096);
        const struct plan_style style = {.prefix = "load.example.com/"};

        planned_init(&p, 0.01, 0);
        all_usable(&p.policy, &p.values, 0.3421);
        p.values.has_hot = true;
        p.values.hot = 2;
        p.values.age_ms[0] = 14999;
        p.values.age_ms[3] = 5 * MS_PER_MIN; /* sampled that seldom: the timestamp says a minute */
        plan_annotations(&p.plan, &(struct plan_choice){.metrics = 9, .has_hot = true}, &p.values,
                         &style, start_unix_ms, &out);
        assert_string_equal(
                out.data, "{"
                          "\"load.example.com/cpu_usage_avg_5m\":\"0.34210,2026-07-23T11:25:39Z\","
                          "\"load.example.com/mem_usage_avg_5m\":\"0.34210,2026-07-23T11:24:54Z\","
                          "\"load.example.com/node_hot_value\":\"2,2026-07-23T11:25:54Z\"}");
        buf_done(&out);
}

/* While means are young, the patches with one say since when they are. */
TEST(young_means) {
        _cleanup_(planned_done) struct planned p;
        struct buf out = BUF_INIT(4096);
        const struct plan_style style = {.prefix = "load.example.com/"};
        static const struct {
                int64_t covered_ms;
                uint64_t usable; /* cpu_usage_avg_5m, its maximum of an hour, both */
                bool has_covered;
        } rows[] = {{0, 1, false}, {45999, 1, true}, {45999, 2, false}, {45999, 3, true}};

        planned_init(&p, 0.01, 0);
        all_usable(&p.policy, &p.values, 0.3421);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                p.values.covered_ms = rows[i].covered_ms;
                p.values.usable = rows[i].usable;
                struct plan_choice choice = planned_choose(&p, start_unix_ms);
                assert_int_equal(choice.metrics, rows[i].usable);
                assert_int_equal(choice.has_covered, rows[i].has_covered);
                choice = plan_choose_all(&p.plan, &p.values);
                assert_int_equal(choice.has_covered, rows[i].has_covered);
                assert_int_equal(plan_choice_count(&choice),
                                 __builtin_popcountll(rows[i].usable) + rows[i].has_covered);
        }
        p.values.age_ms[0] = 14999;
        p.values.age_ms[3] = 9000;
        plan_annotations(&p.plan, &(struct plan_choice){.metrics = 11, .has_covered = true},
                         &p.values, &style, start_unix_ms, &out);
        assert_string_equal(
                out.data,
                "{"
                "\"load.example.com/cpu_usage_avg_5m\":\"0.34210,2026-07-23T11:25:39Z\","
                "\"load.example.com/cpu_usage_max_avg_1h\":\"0.34210,2026-07-23T11:25:54Z\","
                "\"load.example.com/mem_usage_avg_5m\":\"0.34210,2026-07-23T11:25:45Z\","
                "\"load.example.com/node_covered_seconds\":\"45,2026-07-23T11:25:45Z\"}");
        buf_done(&out);
}

TEST(replan) {
        struct policy policy, other = {0};
        struct plan plan, next;
        struct plan_values values;

        fill_policy(&policy);
        plan_init(&plan, &policy, 0.01, 0);
        add_metric(&other, "load_usage_avg_5m", MS_PER_MIN);
        add_metric(&other, "mem_usage_avg_5m", MS_PER_MIN);
        plan_init(&next, &other, 0.01, 0);
        all_usable(&policy, &values, 0.5);
        values.has_hot = true;
        struct plan_record *record = plan_record_new(&plan);
        struct plan_choice choice = plan_choose_all(&plan, &values);
        plan_confirm(record, &choice, &values, start_unix_ms);
        record = plan_record_replan(record, &policy, &next);
        assert_int_equal(record->count, 2);
        assert_true(record->metrics[0].at_unix_ms == PLAN_NEVER);
        assert_true(record->metrics[1].at_unix_ms == start_unix_ms);
        assert_true(record->hot.at_unix_ms == start_unix_ms);
        free(record);
}
