/* The turns of nodes, what is recorded of their annotations, and the text of a patch. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/node/spread.h"
#include "tests/unit/fixture/plan_fixture.h"

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

/* Each is a whole number of periods from any other, whenever one looks; and it is taken once. */
TEST(turns) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        assert_int_equal(p.plan.sync_ms, 3 * MS_PER_MIN);
        int64_t first = plan_turn_unix_ms(&p.plan, "node-a", PLAN_NEVER, start_unix_ms);
        for (int64_t now = start_unix_ms; now < start_unix_ms + MS_PER_HOUR; now += 997) {
                int64_t turn = plan_turn_unix_ms(&p.plan, "node-a", PLAN_NEVER, now);
                assert_in_range(now - turn, 0, p.plan.sync_ms - 1);
                assert_int_equal((turn - first) % p.plan.sync_ms, 0);
                assert_true(plan_turn_unix_ms(&p.plan, "node-a", turn - 1, now) == turn);
                assert_true(plan_turn_unix_ms(&p.plan, "node-a", turn, now) == PLAN_NEVER);
                assert_true(plan_turn_unix_ms(&p.plan, "node-a", now, now) == PLAN_NEVER);
        }
        /* Before the epoch as well, should a clock be that wrong. */
        int64_t turn = plan_turn_unix_ms(&p.plan, "node-a", PLAN_NEVER, -12345);
        assert_in_range(-12345 - turn, 0, p.plan.sync_ms - 1);
}

TEST(policy_without_periods) {
        struct policy policy = {0};
        struct plan plan;
        struct plan_values values;

        add_metric(&policy, "cpu_usage_avg_5m", 0);
        plan_init(&plan, &policy);
        assert_int_equal(plan.sync_ms, PLAN_SYNC_DEFAULT_MS);
        all_usable(&policy, &values, 0.5);
        _cleanup_(freep) struct plan_record *record = plan_record_new(&plan);
        struct plan_due due = plan_due(&plan, record, &values, start_unix_ms, start_unix_ms);
        assert_true(plan_due_is_empty(&due)); /* period 0: kept, never written */
        assert_int_equal(plan_due_all(&plan, &values).metrics, 0);
        due = plan_due(&plan, record, &values, PLAN_NEVER, start_unix_ms);
        assert_true(plan_due_is_empty(&due));

        policy.metrics[0].period_ms = 1; /* a period that nobody can want */
        plan_init(&plan, &policy);
        assert_int_equal(plan.sync_ms, PLAN_SYNC_MIN_MS);
}

TEST(patch_text) {
        _cleanup_(planned_done) struct planned p;
        struct buf out = BUF_INIT(4096);
        const struct plan_style style = {.prefix = "load.example.com/"};

        planned_init(&p);
        all_usable(&p.policy, &p.values, 0.3421);
        p.values.has_hot = true;
        p.values.hot = 2;
        p.values.age_ms[0] = 14999;
        p.values.age_ms[3] = 5 * MS_PER_MIN; /* sampled that seldom: the timestamp says a minute */
        plan_annotations(&p.plan, &(struct plan_due){.metrics = 9, .has_hot = true}, &p.values,
                         &style, start_unix_ms, &out);
        assert_string_equal(
                out.data, "\"load.example.com/cpu_usage_avg_5m\":\"0.34210,2026-07-23T11:25:39Z\","
                          "\"load.example.com/mem_usage_avg_5m\":\"0.34210,2026-07-23T11:24:54Z\","
                          "\"load.example.com/node_hot_value\":\"2,2026-07-23T11:25:54Z\"");
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

        planned_init(&p);
        all_usable(&p.policy, &p.values, 0.3421);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                p.values.covered_ms = rows[i].covered_ms;
                p.values.usable = rows[i].usable;
                struct plan_due due = planned_turn(&p, start_unix_ms);
                assert_int_equal(due.metrics, rows[i].usable);
                assert_int_equal(due.has_covered, rows[i].has_covered);
                due = plan_due_all(&p.plan, &p.values);
                assert_int_equal(due.has_covered, rows[i].has_covered);
                assert_int_equal(plan_due_count(&due),
                                 __builtin_popcountll(rows[i].usable) + rows[i].has_covered);
        }
        p.values.age_ms[0] = 14999;
        p.values.age_ms[3] = 9000;
        plan_annotations(&p.plan, &(struct plan_due){.metrics = 11, .has_covered = true}, &p.values,
                         &style, start_unix_ms, &out);
        assert_string_equal(
                out.data,
                "\"load.example.com/cpu_usage_avg_5m\":\"0.34210,2026-07-23T11:25:39Z\","
                "\"load.example.com/cpu_usage_max_avg_1h\":\"0.34210,2026-07-23T11:25:54Z\","
                "\"load.example.com/mem_usage_avg_5m\":\"0.34210,2026-07-23T11:25:45Z\","
                "\"load.example.com/node_covered_seconds\":\"45,2026-07-23T11:25:45Z\"");
        buf_done(&out);
}

TEST(replan) {
        struct policy policy, other = {0};
        struct plan plan, next;
        struct plan_values values;

        fill_policy(&policy);
        plan_init(&plan, &policy);
        add_metric(&other, "load_usage_avg_5m", MS_PER_MIN);
        add_metric(&other, "mem_usage_avg_5m", MS_PER_MIN);
        plan_init(&next, &other);
        all_usable(&policy, &values, 0.5);
        values.has_hot = true;
        struct plan_record *record = plan_record_new(&plan);
        struct plan_due due = plan_due_all(&plan, &values);
        plan_confirm(record, &due, &values, start_unix_ms);
        record = plan_record_replan(record, &policy, &next);
        assert_int_equal(record->count, 2);
        assert_true(record->metrics[0].at_unix_ms == PLAN_NEVER);
        assert_true(record->metrics[1].at_unix_ms == start_unix_ms);
        assert_true(record->hot.at_unix_ms == start_unix_ms);
        free(record);
}

TEST(counting_and_confirming) {
        _cleanup_(planned_done) struct planned life;

        planned_begin(&life, "cpu_usage_max_avg_1d", 3 * MS_PER_HOUR);
        assert_int_equal(plan_due_count(&(struct plan_due){.metrics = 5, .peaks = 7}), 5);
        assert_int_equal(plan_due_count(&(struct plan_due){.peaks = 1, .has_hot = true}), 2);
        life.values.peak_ratio[0] = 0.7;
        life.values.peak_age_ms[0] = 1000;
        plan_confirm(life.record, &(struct plan_due){.metrics = 1}, &life.values, start_unix_ms);
        assert_true(life.record->metrics[0].peak_unix_ms == PLAN_NEVER);
        plan_confirm(life.record, &(struct plan_due){.peaks = 1}, &life.values, start_unix_ms);
        assert_true(life.record->metrics[0].peak_unix_ms == start_unix_ms - 1000);
}
