/* The exact instants and differences at which the plan decides otherwise. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "controller/track/plan.h"
#include "controller/window/window.h"
#include "policy/annotation.h"
#include "tests/unit/fixture/plan_fixture.h"

/* One metric that was written at start_unix_ms with 0.5. */
static void begin(struct planned *life, const char *name, int64_t period_ms,
                  double dead_band_ratio) {
        *life = (struct planned){0};
        add_metric(&life->policy, name, period_ms);
        plan_init(&life->plan, &life->policy, dead_band_ratio, 0);
        all_usable(&life->policy, &life->values, 0.5);
        life->record = plan_record_new(&life->plan);
        planned_write(life, start_unix_ms);
}

static struct plan_choice choose(const struct planned *life, int64_t age_ms) {
        return planned_choose(life, start_unix_ms + age_ms);
}

TEST(when_a_value_is_due) {
        static const struct {
                int64_t period_ms;
                double ratio, dead_band_ratio;
                int64_t expected_ms;
        } rows[] = {
                /* It moved: a sixteenth of a sync before it would be late at the next turn, but a
                 * quarter of a sync after the turn before. */
                {3 * MS_PER_MIN, 0.9, 0.01, 45000},
                {3 * MS_PER_MIN, 0.51, 0.01, 45000},
                {3 * MS_PER_MIN, 0.9, 0, 45000},
                {3 * MS_PER_MIN, 0.5, 0, 45000}, /* without a dead band */
                /* It did not: a second period more, or three minutes. */
                {3 * MS_PER_MIN, 0.509, 0.01, 191251},
                {3 * MS_PER_MIN, 0.5, 0.01, 191251},
                {15 * MS_PER_MIN, 0.5, 0.01, 236251},
                {15 * MS_PER_MIN, 0.9, 0.01, 225000},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                begin(&life, "cpu_usage_avg_5m", rows[i].period_ms, rows[i].dead_band_ratio);
                life.values.ratio[0] = rows[i].ratio;
                assert_int_equal(choose(&life, rows[i].expected_ms - 1).metrics, 0);
                assert_int_equal(choose(&life, rows[i].expected_ms).metrics, 1);
        }
}

/* Beside a metric of shorter period, whose turns it shares. */
TEST(when_a_slow_value_is_due) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p, 0.01, 0);
        planned_write(&p, start_unix_ms);
        all_usable(&p.policy, &p.values, 0.9);
        struct plan_choice choice = planned_choose(&p, start_unix_ms + 731250);
        assert_int_equal(choice.metrics, 9);
        choice = planned_choose(&p, start_unix_ms + 731251);
        assert_int_equal(choice.metrics, 27);
        choice = planned_choose(&p, start_unix_ms + 10631250);
        assert_int_equal(choice.metrics, 27);
        choice = planned_choose(&p, start_unix_ms + 10631251);
        assert_int_equal(choice.metrics, 63);
}

TEST(when_a_value_is_overdue) {
        static const struct {
                int64_t period_ms;
                double dead_band_ratio;
                int64_t expected_ms;
        } rows[] = {
                {3 * MS_PER_MIN, 0.01, 405001},
                {3 * MS_PER_MIN, 0, 225001},
                /* Before readers stop using it, which may be 5 minutes after its period, less the
                 * minute by which its time may be before its writing. */
                {15 * MS_PER_MIN, 0.01, 1125001},
                {MS_PER_HOUR, 0.01, 3825001},
                {MS_PER_HOUR, 0, 3645001},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned life;
                begin(&life, "cpu_usage_avg_5m", rows[i].period_ms, rows[i].dead_band_ratio);
                int64_t at = start_unix_ms + rows[i].expected_ms;
                assert_false(planned_is_overdue(&life, at - 1));
                assert_true(planned_is_overdue(&life, at));
                /* An annotation from so far ahead counts as none. */
                at = start_unix_ms - ANNOTATION_SKEW_MS;
                assert_false(planned_is_overdue(&life, at));
                assert_true(planned_is_overdue(&life, at - 1));
        }
}

TEST(when_a_hot_value_is_due) {
        _cleanup_(planned_done) struct planned life;

        begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_MIN, 0.01);
        life.values.usable = 0;
        life.values.has_hot = true;
        life.record->hot = (struct plan_written){.value = 2, .at_unix_ms = start_unix_ms};
        life.values.hot = 2; /* it must not expire */
        assert_false(choose(&life, 131250).has_hot);
        assert_true(choose(&life, 131251).has_hot);
        life.values.hot = 0; /* as long as readers use the other */
        assert_true(choose(&life, ANNOTATION_GRACE_MS - 1).has_hot);
        assert_false(choose(&life, ANNOTATION_GRACE_MS).has_hot);
        life.values.hot = 1;
        assert_true(choose(&life, 0).has_hot);
        assert_true(choose(&life, ANNOTATION_GRACE_MS).has_hot);
        life.values.has_hot = false;
        assert_false(choose(&life, ANNOTATION_GRACE_MS).has_hot);
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
                begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR, 0.01);
                struct plan_written *written = &life.record->metrics[0];
                written->peak_unix_ms = start_unix_ms;
                written->peak_ratio = 0.5;
                life.values.peaks = 1;
                life.values.peak_ratio[0] = rows[i].ratio;
                life.values.peak_age_ms[0] = rows[i].age_ms;
                life.values.has_hot = true; /* so that there is a patch */
                life.values.hot = 1;
                struct plan_choice choice = choose(&life, 60000);
                if (choice.peaks != rows[i].is_new || choice.metrics != rows[i].is_maximum_new)
                        fail_msg("%s: peaks %d, metrics %d", rows[i].what, (int)choice.peaks,
                                 (int)choice.metrics);
        }
}

/* A peak that somebody dated into the future would stay for ever. */
TEST(a_peak_of_the_future) {
        _cleanup_(planned_done) struct planned life;

        begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR, 0.01);
        life.values.peaks = 1;
        life.values.peak_ratio[0] = life.record->metrics[0].peak_ratio = 0.5;
        life.values.has_hot = true;
        life.values.hot = 1;
        life.record->metrics[0].peak_unix_ms = start_unix_ms + 60000 + ANNOTATION_SKEW_MS;
        assert_int_equal(choose(&life, 60000).peaks, 0);
        life.record->metrics[0].peak_unix_ms++;
        assert_int_equal(choose(&life, 60000).peaks, 1);
        life.record->metrics[0].peak_unix_ms = PLAN_NEVER;
        assert_int_equal(choose(&life, 60000).peaks, 1);
}

/* A turn may be a sixteenth early, but not too late for the next instant. */
TEST(next_turn) {
        _cleanup_(planned_done) struct planned life;

        begin(&life, "cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.01);
        const struct plan *plan = &life.plan;
        int64_t grid = plan_first_sync_unix_ms(plan, "node-a", start_unix_ms) + 2 * plan->sync_ms;
        int64_t farthest_ms = plan->sync_ms + plan->sync_ms / 16;
        const struct {
                int64_t now, expected;
        } rows[] = {
                {grid, grid + plan->sync_ms},
                {grid - farthest_ms, grid},
                {grid - farthest_ms - 1, grid - farthest_ms - 1 + (farthest_ms + 1) / 2},
                {grid - plan->sync_ms / 2, grid},
                {grid - plan->sync_ms / 2 + 1,
                 grid - plan->sync_ms / 2 + 1 + (3 * plan->sync_ms / 2 - 1) / 2},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(plan_next_sync_unix_ms(plan, "node-a", rows[i].now),
                                 rows[i].expected);
        assert_int_equal(plan_first_sync_unix_ms(plan, "node-a", grid), grid);
        assert_int_equal(plan_first_sync_unix_ms(plan, "node-a", grid + 1), grid + plan->sync_ms);
}

/* All of an eighth of a sync is used, and not more. */
TEST(retries_are_spread) {
        static const struct {
                int64_t sync_ms, wait_ms;
        } rows[] = {{1000, 1000}, {80000, 10000}, {239999, 29999}, {241000, 30000}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct plan plan = {.sync_ms = rows[i].sync_ms};
                int64_t least = INT64_MAX, most = 0;
                for (int n = 0; n < 2000; n++) {
                        char name[32];
                        snprintf(name, sizeof(name), "node-%d", n);
                        int64_t wait_ms = plan_retry_ms(&plan, name);
                        least = wait_ms < least ? wait_ms : least;
                        most = wait_ms > most ? wait_ms : most;
                }
                assert_in_range(least, rows[i].wait_ms, rows[i].wait_ms + rows[i].wait_ms / 100);
                assert_in_range(most, 2 * rows[i].wait_ms - rows[i].wait_ms / 100,
                                2 * rows[i].wait_ms - 1);
        }
}

TEST(counting_and_confirming) {
        _cleanup_(planned_done) struct planned life;

        begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR, 0.01);
        assert_int_equal(plan_choice_count(&(struct plan_choice){.metrics = 5, .peaks = 7}), 5);
        assert_int_equal(plan_choice_count(&(struct plan_choice){.peaks = 1, .has_hot = true}), 2);
        life.values.peak_ratio[0] = 0.7;
        life.values.peak_age_ms[0] = 1000;
        plan_confirm(life.record, &(struct plan_choice){.metrics = 1}, &life.values, start_unix_ms);
        assert_true(life.record->metrics[0].peak_unix_ms == PLAN_NEVER);
        plan_confirm(life.record, &(struct plan_choice){.peaks = 1}, &life.values, start_unix_ms);
        assert_true(life.record->metrics[0].peak_unix_ms == start_unix_ms - 1000);
}

/* What lies behind the policy's last metric is not looked at. */
TEST(the_last_metric) {
        _cleanup_(planned_done) struct planned life;

        begin(&life, "cpu_usage_avg_5m", 3 * MS_PER_MIN, 0.01);
        life.policy.metrics[1] = life.policy.metrics[0];
        life.plan.early_delta_ratio = 0.1;
        life.values.usable = life.values.peaks = 3;
        life.values.ratio[0] = life.values.ratio[1] = 0.9;
        struct plan_choice choice = choose(&life, 10 * MS_PER_MIN);
        assert_int_equal(choice.metrics, 1);
        assert_int_equal(choice.peaks, 1);
        assert_int_equal(plan_choose_all(&life.plan, &life.values).metrics, 1);
        assert_false(planned_is_overdue(&life, start_unix_ms));
}
