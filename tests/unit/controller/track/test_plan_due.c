/* What is due on a node: random days, and the odd cases one by one. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/window/window.h"
#include "policy/annotation.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/plan_fixture.h"

enum { CPU, CPU_MAX_1H, CPU_MAX_1D, MEM };

/* Days of nodes that are read every 15 s or so, and whose patches wait for a while. */

enum { NODES = 60, READING_MS = 15000, DELAY_MS = 4000, TURNS_A_DAY = 480 };

struct day {
        struct planned p;
        char name[32];
        double swing;      /* the most by which a value changes from reading to reading */
        bool has_outages;  /* times without readings */
        bool has_restarts; /* of the controller, which learns from the annotations */
        int64_t now_unix_ms, taken_unix_ms;
        int64_t last_turn_unix_ms;
        size_t patches, extra; /* extra: between turns */
};

static void walk(struct day *day) {
        for (size_t i = 0; i < day->p.policy.metric_count; i++) {
                double ratio = day->p.values.ratio[i] + day->swing * (2 * draw_ratio() - 1);
                day->p.values.ratio[i] = fmin(fmax(ratio, 0), 1);
                day->p.values.age_ms[i] = draw_below(3000);
        }
}

static bool is_above_limit(const struct planned *p, double ratio) {
        return ratio > p->policy.predicates[0].limit_ratio;
}

/* As the writer does: the reading says whether, and the moment of the patch says what. */
static void read_node(struct day *day) {
        struct planned *p = &day->p;
        int64_t now = day->now_unix_ms;
        int64_t turn = plan_turn_unix_ms(&p->plan, day->name, day->taken_unix_ms, now);
        struct plan_due due = plan_due(&p->plan, p->record, &p->values, turn, now);

        if (!plan_due_is_empty(&due)) {
                now += draw_below(DELAY_MS);
                due = plan_due(&p->plan, p->record, &p->values, turn, now);
                assert_false(plan_due_is_empty(&due));
                day->patches++;
                day->extra += turn == PLAN_NEVER;
                /* No turn has two patches. */
                assert_true(turn == PLAN_NEVER || turn > day->last_turn_unix_ms);
                plan_confirm(p->record, &due, &p->values, now);
        }
        day->taken_unix_ms = now;
        if (turn == PLAN_NEVER)
                return;
        day->last_turn_unix_ms = turn;
        /* What stands there after a turn is right, unless it was written just before. */
        for (size_t i = CPU; i <= MEM; i += MEM - CPU) {
                const struct plan_written *written = &p->record->metrics[i];
                if (turn - written->at_unix_ms < p->plan.sync_ms / 4 && written->at_unix_ms != now)
                        continue;
                assert_true(fabs(written->value - p->values.ratio[i]) < 0.05);
                if (i == CPU)
                        assert_true(is_above_limit(p, written->value) ==
                                    is_above_limit(p, p->values.ratio[i]));
        }
}

static void check_freshness(const struct day *day) {
        const struct planned *p = &day->p;

        for (size_t i = 0; i < p->policy.metric_count; i++) {
                const struct plan_written *written = &p->record->metrics[i];
                int64_t period_ms = p->policy.metrics[i].period_ms;
                int64_t expires = annotation_expires_unix_ms(written->stamp_unix_ms, period_ms);
                /* Readers use it for a minute more, so a patch may wait that long. */
                assert_true(expires - day->now_unix_ms > MS_PER_MIN);
        }
}

/* Another process: it knows what the annotations say. */
static void restart(struct day *day) {
        for (size_t i = 0; i < day->p.policy.metric_count; i++) {
                struct plan_written *written = &day->p.record->metrics[i];
                written->stamp_unix_ms -= written->stamp_unix_ms % MS_PER_S;
                written->at_unix_ms = written->stamp_unix_ms;
        }
        day->taken_unix_ms = day->now_unix_ms;
}

static void live_a_day(struct day *day, unsigned number) {
        planned_init(&day->p);
        for (size_t i = 0; i < day->p.policy.metric_count; i++)
                day->p.values.ratio[i] = draw_ratio();
        (void)snprintf(day->name, sizeof(day->name), "node-%u", number);
        day->now_unix_ms = day->taken_unix_ms = start_unix_ms + draw_below(200) * MS_PER_S;
        while (day->now_unix_ms < start_unix_ms + MS_PER_DAY) {
                walk(day);
                read_node(day);
                check_freshness(day);
                day->now_unix_ms += READING_MS - 500 + draw_below(1000);
                if (day->has_outages && draw_below(500) == 0)
                        day->now_unix_ms += draw_below(20) * MS_PER_MIN;
                if (day->has_restarts && draw_below(500) == 0)
                        restart(day);
        }
        planned_done(&day->p);
}

TEST(days) {
        static const struct {
                const char *what;
                double swing;
                bool has_outages, has_restarts;
                size_t most_patches, most_extra; /* of a node, on average */
        } rows[] = {
                {"idle", 0, false, false, TURNS_A_DAY / 2 + 2, 1},
                {"calm", 0.003, false, false, TURNS_A_DAY * 3 / 4, 1},
                {"busy", 0.05, false, false, 2 * TURNS_A_DAY, TURNS_A_DAY},
                {"wild", 0.5, false, false, 4 * TURNS_A_DAY + 2, 3 * TURNS_A_DAY + 2},
                {"read now and then", 0.05, true, false, 2 * TURNS_A_DAY, TURNS_A_DAY},
                {"restarts", 0.05, false, true, 2 * TURNS_A_DAY, TURNS_A_DAY},
                {"restarts, idle", 0, false, true, TURNS_A_DAY * 5 / 8, 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t patches = 0, extra = 0;
                for (unsigned n = 0; n < NODES; n++) {
                        struct day day = {.swing = rows[i].swing,
                                          .has_outages = rows[i].has_outages,
                                          .has_restarts = rows[i].has_restarts};
                        live_a_day(&day, n);
                        patches += day.patches;
                        extra += day.extra;
                }
                print_message("%s: %.1f patches of a node, %.2f of them between turns\n",
                              rows[i].what, (double)patches / NODES, (double)extra / NODES);
                assert_true(patches <= rows[i].most_patches * NODES);
                assert_true(extra <= rows[i].most_extra * NODES);
        }
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
                {"within the dead band", 0.549, 63, 180000, true, 0, 0, 0, false},
                {"beyond it: both 5m metrics go", 0.551, 63, 180000, true, 0, 0, 9, true},
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
                planned_init(&p);
                assert_int_equal(plan_due_all(&p.plan, &p.values).metrics, 63);
                planned_write(&p, start_unix_ms - rows[i].age_ms);
                p.record->hot = (struct plan_written){.value = rows[i].hot_written,
                                                      .at_unix_ms = start_unix_ms - rows[i].age_ms};

                all_usable(&p.policy, &p.values, rows[i].ratio);
                p.values.usable = rows[i].usable;
                p.values.has_hot = rows[i].has_hot;
                p.values.hot = rows[i].hot;
                struct plan_due due = planned_turn(&p, start_unix_ms);
                if (due.metrics != rows[i].expected || due.has_hot != rows[i].expected_hot)
                        fail_msg("%s: metrics %llx, hot %d", rows[i].what,
                                 (unsigned long long)due.metrics, due.has_hot);
        }
}

TEST(crossing_a_limit) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        all_usable(&p.policy, &p.values, 0.649);
        planned_write(&p, start_unix_ms);
        all_usable(&p.policy, &p.values, 0.651); /* less than the dead band, but above 65% */
        struct plan_due due = planned_turn(&p, start_unix_ms + 3 * MS_PER_MIN);
        assert_int_equal(due.metrics, 9);
        for (size_t i = 0; i < p.policy.predicate_count; i++)
                p.policy.predicates[i].limit_ratio = 0; /* turned off */
        due = planned_turn(&p, start_unix_ms + 3 * MS_PER_MIN);
        assert_int_equal(due.metrics, 0);
}

/* Was @old_ratio, and is @new_ratio, which has not left the dead band: is it written all the same?
 */
static bool crosses(struct planned *p, size_t pool, size_t metric, double old_ratio,
                    double new_ratio) {
        all_usable(&p->policy, &p->values, 0.5);
        p->values.pool = (uint8_t)pool;
        p->values.ratio[metric] = old_ratio;
        planned_write(p, start_unix_ms);
        p->values.ratio[metric] = new_ratio;
        return (planned_turn(p, start_unix_ms + 3 * MS_PER_MIN).metrics >> metric & 1) != 0;
}

/* A value at the limit is not above it. */
TEST(just_there) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        assert_false(crosses(&p, 0, CPU, 0.65, 0.645));
        assert_false(crosses(&p, 0, CPU, 0.645, 0.65));
        assert_true(crosses(&p, 0, CPU, 0.65, 0.651));
        assert_true(crosses(&p, 0, CPU, 0.651, 0.65));
        assert_false(crosses(&p, 0, MEM, 0.651, 0.65));
}

/* The limits of its pool, and of rules: those of other pools are nothing to it. */
TEST(limits_of_a_pool) {
        _cleanup_(planned_done) struct planned p;
        static const double all[] = {0.65, 0.8, 0.9, 0.95};
        static const unsigned by_pool[] = {1 | 8, 2 | 8, 4 | 8}; /* which of them, a bit each */

        planned_init(&p);
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
                for (size_t i = 0; i < ARRAY_LEN(all); i++)
                        crossed |= (unsigned)crosses(&p, pool, CPU, all[i] - 0.001, all[i] + 0.001)
                                   << i;
                assert_int_equal(crossed, by_pool[pool]);
        }
}

TEST(overdue) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
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

/* A value that was missing comes moments after the others: it alone is written. */
TEST(a_late_value) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        p.values.usable &= ~UINT64_C(1);
        struct plan_due due = planned_turn(&p, start_unix_ms);
        assert_int_equal(due.metrics, p.values.usable);
        planned_confirm(&p, &due, start_unix_ms);

        all_usable(&p.policy, &p.values, 0.7);
        int64_t now = start_unix_ms + 15 * MS_PER_S;
        assert_true(planned_is_overdue(&p, now));
        due = planned_turn(&p, now);
        assert_int_equal(due.metrics, 1);
        planned_confirm(&p, &due, now);
        assert_false(planned_is_overdue(&p, now));

        /* The turn after that carries all of them, unless it comes moments later. */
        due = planned_turn(&p, now + p.plan.sync_ms / 4 - 1);
        assert_int_equal(due.metrics & 1, 0);
        now += p.plan.sync_ms / 4;
        due = planned_turn(&p, now);
        assert_int_equal(due.metrics & 9, 9);
}

/* Timestamps are whole seconds: no two values of a metric get the same one. */
TEST(within_a_second) {
        int64_t second_unix_ms = start_unix_ms - start_unix_ms % MS_PER_S;
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        p.policy.metrics[0].period_ms = MS_PER_S;
        plan_init(&p.plan, &p.policy);
        planned_write(&p, second_unix_ms + 20);

        p.values.ratio[0] = 0.9;
        struct plan_due due = planned_turn(&p, second_unix_ms + 980);
        assert_int_equal(due.metrics & 1, 0);
        due = planned_turn(&p, second_unix_ms + MS_PER_S);
        assert_int_equal(due.metrics & 1, 1);
        /* Nor does one get it whose newest sample is not newer: that of another source. */
        p.values.age_ms[0] = 990;
        due = planned_turn(&p, second_unix_ms + MS_PER_S);
        assert_int_equal(due.metrics & 1, 0);
}

/* A maximum of the first seconds does not stand for its whole period. */
TEST(provisional) {
        _cleanup_(planned_done) struct planned p;
        int64_t now = start_unix_ms;

        planned_init(&p);
        all_usable(&p.policy, &p.values, 0.9);
        p.values.provisional = 1u << 2 | 1u << 5; /* the maxima of a day */
        struct plan_due due = planned_turn(&p, now);
        planned_confirm(&p, &due, now);

        /* As long as it is, there is nothing better to say. */
        now += p.plan.sync_ms;
        due = planned_turn(&p, now);
        assert_int_equal(due.metrics & (1u << 2 | 1u << 5), 0);
        planned_confirm(&p, &due, now);

        /* Then it is corrected at the next turn, once, even if nothing else has a reason. */
        p.values.provisional = 0;
        p.values.ratio[2] = 0.2;
        now += p.plan.sync_ms;
        due = planned_turn(&p, now);
        assert_int_equal(due.metrics & (1u << 2 | 1u << 5), 1u << 2 | 1u << 5);
        planned_confirm(&p, &due, now);
        p.values.ratio[2] = 0.7;
        now += p.plan.sync_ms;
        due = planned_turn(&p, now);
        assert_int_equal(due.metrics & (1u << 2 | 1u << 5), 0);
}

static struct plan_due turn(const struct planned *life, int64_t age_ms) {
        return planned_turn(life, start_unix_ms + age_ms);
}

TEST(when_a_value_is_due) {
        static const struct {
                int64_t period_ms;
                double ratio;
                int64_t expected_ms;
        } rows[] = {
                /* It moved: a sixteenth of a period before it would be late at the next turn, but
                 * no sooner than a quarter after it was written. */
                {3 * MS_PER_MIN, 0.9, 45000},
                {3 * MS_PER_MIN, 0.551, 45000},
                {15 * MS_PER_MIN, 0.9, 225000},
                /* It did not: a second period more, or three minutes. */
                {3 * MS_PER_MIN, 0.549, 191251},
                {3 * MS_PER_MIN, 0.5, 191251},
                {15 * MS_PER_MIN, 0.5, 236251},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                planned_begin(&life, "cpu_usage_avg_5m", rows[i].period_ms);
                life.values.ratio[0] = rows[i].ratio;
                assert_int_equal(turn(&life, rows[i].expected_ms - 1).metrics, 0);
                assert_int_equal(turn(&life, rows[i].expected_ms).metrics, 1);
        }
}

/* Between turns: a mean that is far from what was written, and not a quarter of a turn after that.
 */
TEST(when_a_value_is_far) {
        static const struct {
                const char *name;
                int64_t period_ms;
                double ratio;
                bool is_provisional;
                int64_t expected_ms; /* since it was written; 0: not before it is overdue */
        } rows[] = {
                {"cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.6001, false, 45000},
                {"cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.3999, false, 45000},
                {"cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.5999, false, 0},
                {"cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.6001, true, 0},
                {"cpu_usage_avg_5m", 15 * MS_PER_MIN, 0.6001, false, 225000},
                {"cpu_usage_max_avg_1d", 3 * MS_PER_MIN, 0.9, false, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                int64_t at = start_unix_ms +
                             (rows[i].expected_ms > 0 ? rows[i].expected_ms : 405001);
                planned_begin(&life, rows[i].name, rows[i].period_ms);
                life.values.ratio[0] = rows[i].ratio;
                life.values.provisional = rows[i].is_provisional;
                assert_false(planned_is_overdue(&life, at - 1));
                assert_true(planned_is_overdue(&life, at));
        }
}

/* A mean of a longer period stays as it is until it is due: it does not have the others written. */
TEST(when_a_slow_value_is_far) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        add_metric(&p.policy, "cpu_usage_avg_1h", 15 * MS_PER_MIN);
        plan_init(&p.plan, &p.policy);
        free(p.record);
        p.record = plan_record_new(&p.plan);
        all_usable(&p.policy, &p.values, 0.5);
        planned_write(&p, start_unix_ms);
        p.values.ratio[p.policy.metric_count - 1] = 0.9;
        p.values.ratio[CPU] = 0.55;
        assert_false(planned_is_overdue(&p, start_unix_ms + 3 * MS_PER_MIN));
        p.values.ratio[CPU] = 0.65;
        assert_true(planned_is_overdue(&p, start_unix_ms + 3 * MS_PER_MIN));
}

/* What is due is decided for the turn, however long after it the node is read. */
TEST(a_late_reading) {
        _cleanup_(planned_done) struct planned life;
        int64_t turn_unix_ms = start_unix_ms + 3 * MS_PER_MIN;

        planned_begin(&life, "cpu_usage_avg_5m", 3 * MS_PER_MIN);
        for (int64_t late_ms = 0; late_ms < 3 * MS_PER_MIN; late_ms += 1000) {
                struct plan_due due = plan_due(&life.plan, life.record, &life.values, turn_unix_ms,
                                               turn_unix_ms + late_ms);
                assert_true(plan_due_is_empty(&due));
        }
        /* Another replica has written since: that was the turn's. */
        life.values.ratio[0] = 0.9;
        planned_write(&life, turn_unix_ms + 100000);
        life.values.ratio[0] = 0.2;
        struct plan_due due = plan_due(&life.plan, life.record, &life.values, turn_unix_ms,
                                       turn_unix_ms + 110000);
        assert_true(plan_due_is_empty(&due));
}

/* Next to a metric of shorter period, whose turns it shares. */
TEST(when_a_slow_value_is_due) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        planned_write(&p, start_unix_ms);
        all_usable(&p.policy, &p.values, 0.9);
        struct plan_due due = planned_turn(&p, start_unix_ms + 731250);
        assert_int_equal(due.metrics, 9);
        due = planned_turn(&p, start_unix_ms + 731251);
        assert_int_equal(due.metrics, 27);
        due = planned_turn(&p, start_unix_ms + 10631250);
        assert_int_equal(due.metrics, 27);
        due = planned_turn(&p, start_unix_ms + 10631251);
        assert_int_equal(due.metrics, 63);
}

TEST(when_a_value_is_overdue) {
        static const struct {
                int64_t period_ms, expected_ms;
        } rows[] = {
                {3 * MS_PER_MIN, 405001},
                /* Before readers stop using it, which may be 5 minutes after its period, less the
                 * minute by which its time may be before its writing. */
                {15 * MS_PER_MIN, 1125001},
                {MS_PER_HOUR, 3825001},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                planned_begin(&life, "cpu_usage_avg_5m", rows[i].period_ms);
                int64_t at = start_unix_ms + rows[i].expected_ms;
                assert_false(planned_is_overdue(&life, at - 1));
                assert_true(planned_is_overdue(&life, at));
                /* An annotation from so far ahead is ignored. */
                at = start_unix_ms - ANNOTATION_SKEW_MS;
                assert_false(planned_is_overdue(&life, at));
                assert_true(planned_is_overdue(&life, at - 1));
        }
}

TEST(when_a_hot_value_is_due) {
        _cleanup_(planned_done) struct planned life;

        planned_begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_MIN);
        life.values.usable = 0;
        life.values.has_hot = true;
        life.record->hot = (struct plan_written){.value = 2, .at_unix_ms = start_unix_ms};
        life.values.hot = 2; /* it must not expire */
        assert_false(turn(&life, 131250).has_hot);
        assert_true(turn(&life, 131251).has_hot);
        life.values.hot = 0; /* as long as readers use the other */
        assert_true(turn(&life, ANNOTATION_GRACE_MS - 1).has_hot);
        assert_false(turn(&life, ANNOTATION_GRACE_MS).has_hot);
        life.values.hot = 1;
        assert_true(turn(&life, 0).has_hot);
        assert_true(turn(&life, ANNOTATION_GRACE_MS).has_hot);
        life.values.has_hot = false;
        assert_false(turn(&life, ANNOTATION_GRACE_MS).has_hot);
}

/* Another peak, or another time of it by more than a bucket, goes with the next patch. */
TEST(when_a_peak_is_new) {
        int64_t bucket_ms = window_resolution_ms(MS_PER_DAY);
        const struct {
                const char *what;
                double ratio;
                int64_t age_ms; /* of the peak, when it is chosen */
                bool is_new, is_maximum_new;
        } rows[] = {
                {"the same", 0.5, 60000, false, false},
                {"a bucket later", 0.5, 60000 - bucket_ms, false, false},
                {"a ms more", 0.5, 60000 - bucket_ms - 1, true, false},
                {"a bucket earlier, by a clock that was set back", 0.5, 60000 + bucket_ms, false,
                 false},
                {"a ms more of that", 0.5, 60000 + bucket_ms + 1, true, false},
                {"a digit that is not written", 0.500009, 60000, false, false},
                {"one that is", 0.50002, 60000, true, false},
                {"lower: the maximum goes along", 0.4, 60000, true, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                planned_begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR);
                struct plan_written *written = &life.record->metrics[0];
                written->peak_unix_ms = start_unix_ms;
                written->peak_ratio = 0.5;
                life.values.peaks = 1;
                life.values.peak_ratio[0] = rows[i].ratio;
                life.values.peak_age_ms[0] = rows[i].age_ms;
                life.values.has_hot = true; /* so that there is a patch */
                life.values.hot = 1;
                struct plan_due due = turn(&life, 60000);
                if (due.peaks != rows[i].is_new || due.metrics != rows[i].is_maximum_new)
                        fail_msg("%s: peaks %d, metrics %d", rows[i].what, (int)due.peaks,
                                 (int)due.metrics);
        }
}

/* A peak that somebody dated into the future would stay forever. */
TEST(a_peak_of_the_future) {
        _cleanup_(planned_done) struct planned life;

        planned_begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR);
        life.values.peaks = 1;
        life.values.peak_ratio[0] = life.record->metrics[0].peak_ratio = 0.5;
        life.values.has_hot = true;
        life.values.hot = 1;
        life.record->metrics[0].peak_unix_ms = start_unix_ms + 60000 + ANNOTATION_SKEW_MS;
        assert_int_equal(turn(&life, 60000).peaks, 0);
        life.record->metrics[0].peak_unix_ms++;
        assert_int_equal(turn(&life, 60000).peaks, 1);
        life.record->metrics[0].peak_unix_ms = PLAN_NEVER;
        assert_int_equal(turn(&life, 60000).peaks, 1);
}

/* What lies behind the policy's last metric is not looked at. */
TEST(the_last_metric) {
        _cleanup_(planned_done) struct planned life;

        planned_begin(&life, "cpu_usage_avg_5m", 3 * MS_PER_MIN);
        life.policy.metrics[1] = life.policy.metrics[0];
        life.values.usable = life.values.peaks = 3;
        life.values.ratio[0] = life.values.ratio[1] = 0.9;
        struct plan_due due = turn(&life, 10 * MS_PER_MIN);
        assert_int_equal(due.metrics, 1);
        assert_int_equal(due.peaks, 1);
        assert_int_equal(plan_due_all(&life.plan, &life.values).metrics, 1);
        assert_false(planned_is_overdue(&life, start_unix_ms));
}
