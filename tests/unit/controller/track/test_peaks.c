/* What becomes of a node's peaks when one controller ends and another begins, and under another
 * policy: each life below knows nothing but the annotations that the one before has left. */
#include "tests/unit/fixture/compiled_policy.h"

#include <jansson.h>

#include "base/clock.h"
#include "controller/track/node_track.h"
#include "controller/track/plan_due.h"

/* 2026-07-23T11:25:54Z */
static const int64_t start_unix_ms = INT64_C(1784805954000);
static const int64_t every_ms = 15 * MS_PER_S;

#define HEAD "  syncPolicy:\n"

static const char policy_text[] = HEAD "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                       "  - {name: cpu_usage_max_avg_1h, period: 15m}\n";
static const char longer_text[] = HEAD "  - {name: mem_usage_max_avg_1d, period: 3h}\n"
                                       "  - {name: cpu_usage_avg_5m, period: 3m}\n";

enum { AVG, MAX };

static struct compiled_policy *new_rules(const char *text) {
        return compiled_policy_of(text, every_ms);
}

/* A controller, its clocks, and the node's annotations, which outlive it. */
struct life {
        struct compiled_policy *compiled;
        struct node_track track;
        int64_t now_mono_ms;
        json_t *annotations;
        int64_t now_unix_ms;
};

static void begin(struct life *life) {
        /* Another machine: its clock has another zero, and so its buckets other edges. */
        life->now_mono_ms = INT64_C(5000000) + life->now_unix_ms % 977 * 613;
        life->compiled = new_rules(policy_text);
        node_track_init(&life->track, life->compiled, life->now_mono_ms);
        node_track_annotations(&life->track, life->annotations, life->now_mono_ms,
                               life->now_unix_ms);
}

static void end(struct life *life) {
        node_track_done(&life->track);
        compiled_policy_free(life->compiled);
}

static void pass(struct life *life, int64_t ms) {
        life->now_mono_ms += ms;
        life->now_unix_ms += ms;
}

/* The load, scrape by scrape, for this long from now on. */
static void scrape(struct life *life, double ratio, int64_t ms) {
        for (int64_t end_ms = life->now_mono_ms + ms; life->now_mono_ms < end_ms;) {
                struct window_step step = {.at_mono_ms = life->now_mono_ms,
                                           .gauges = 1u << METRIC_CPU | 1u << METRIC_MEM};
                step.num[METRIC_CPU] = ratio;
                step.num[METRIC_MEM] = ratio;
                node_track_reading(&life->track, 0, &(struct source_reading){.step = &step},
                                   life->now_mono_ms);
                pass(life, every_ms);
        }
}

static double value(const struct life *life, size_t metric) {
        struct plan_values values;

        node_track_values(&life->track, life->now_mono_ms, &values);
        return values.usable >> metric & 1 ? values.ratio[metric] : -1;
}

static double ratio_of(const struct life *life, const char *key) {
        return strtod(json_string_value(json_object_get(life->annotations, key)), NULL);
}

/* What is due goes onto the node, and comes back by the watch. A maximum above its peak would be
 * taken for an older version's, unless nothing is remembered. */
static void write_plan(struct life *life) {
        struct plan_values values;
        struct buf text = BUF_INIT(4096);

        node_track_values(&life->track, life->now_mono_ms, &values);
        struct plan_due due = plan_due(&life->compiled->plan, life->track.record, &values,
                                       life->now_unix_ms, life->now_unix_ms);
        buf_putc(&text, '{');
        plan_annotations(&life->compiled->plan, &due, &values, &life->compiled->options.style,
                         life->now_unix_ms, &text);
        buf_putc(&text, '}');
        json_t *patch = json_loads(text.data, 0, NULL);
        assert_non_null(patch);
        assert_int_equal(json_object_update(life->annotations, patch), 0);
        if (json_object_get(patch, "cpu_usage_max_avg_1h_peak") &&
            ratio_of(life, "cpu_usage_max_avg_1h_peak") > 0)
                assert_true(ratio_of(life, "cpu_usage_max_avg_1h") <
                            ratio_of(life, "cpu_usage_max_avg_1h_peak") + 3e-5);
        json_decref(patch);
        buf_done(&text);
        plan_confirm(life->track.record, &due, &values, life->now_unix_ms);
        node_track_annotations(&life->track, life->annotations, life->now_mono_ms,
                               life->now_unix_ms);
}

static struct life new_node(void) {
        return (struct life){.annotations = json_object(), .now_unix_ms = start_unix_ms};
}

static void annotate(struct life *life, const char *key, const char *text) {
        assert_int_equal(json_object_set_new(life->annotations, key, json_string(text)), 0);
}

/* A peak of an hour is gone after an hour, however often somebody else begins. */
TEST(restarts_keep_a_peaks_time) {
        static const int64_t lives_ms[] = {4 * MS_PER_MIN, 30 * MS_PER_MIN};

        for (size_t i = 0; i < ARRAY_LEN(lives_ms); i++) {
                struct life life = new_node();
                begin(&life);
                scrape(&life, 0.9, 10 * MS_PER_MIN);
                write_plan(&life);
                int64_t peak_unix_ms = life.now_unix_ms;
                while (life.now_unix_ms < peak_unix_ms + 62 * MS_PER_MIN) {
                        end(&life);
                        begin(&life);
                        for (int64_t ms = 0; ms < lives_ms[i]; ms += MS_PER_MIN) {
                                scrape(&life, 0.2, MS_PER_MIN);
                                write_plan(&life);
                                int64_t age_ms = life.now_unix_ms - peak_unix_ms;
                                if (age_ms < 58 * MS_PER_MIN)
                                        assert_float_equal(value(&life, MAX), 0.9, 1e-5);
                                else if (age_ms > 66 * MS_PER_MIN)
                                        assert_float_equal(value(&life, MAX), 0.2, 0.15);
                        }
                }
                assert_float_equal(value(&life, MAX), 0.2, 0.15);
                end(&life);
                json_decref(life.annotations);
        }
}

/* A wall clock that is set back makes no peak younger, neither here nor in the annotation. */
TEST(clock_set_back) {
        for (int restarts = 0; restarts < 2; restarts++) {
                struct life life = new_node();
                begin(&life);
                scrape(&life, 0.9, 10 * MS_PER_MIN);
                write_plan(&life);
                for (int64_t age_ms = MS_PER_MIN; age_ms < 67 * MS_PER_MIN; age_ms += MS_PER_MIN) {
                        scrape(&life, 0.2, MS_PER_MIN);
                        write_plan(&life);
                        if (age_ms < 58 * MS_PER_MIN)
                                assert_float_equal(value(&life, MAX), 0.9, 1e-5);
                        if (age_ms == 40 * MS_PER_MIN) {
                                life.now_unix_ms -= 25 * MS_PER_MIN;
                                node_track_annotations(&life.track, life.annotations,
                                                       life.now_mono_ms, life.now_unix_ms);
                        }
                        if (age_ms == 45 * MS_PER_MIN && restarts) {
                                end(&life);
                                begin(&life);
                        }
                }
                assert_float_equal(value(&life, MAX), 0.2, 0.15);
                end(&life);
                json_decref(life.annotations);
        }
}

/* A maximum of which nobody says when it was, crane's or an older version's, is as old as its
 * annotation: but from then on it has a time. */
TEST(a_peak_without_time) {
        struct life life = new_node();

        annotate(&life, "cpu_usage_max_avg_1h", "0.80000,2026-07-23T11:05:54Z"); /* 20 minutes */
        for (int i = 0; i < 3; i++) {
                begin(&life);
                for (int64_t ms = 0; ms < 15 * MS_PER_MIN; ms += MS_PER_MIN) {
                        scrape(&life, 0.2, MS_PER_MIN);
                        write_plan(&life);
                }
                assert_float_equal(value(&life, MAX), i < 2 ? 0.8F : 0.2F, 1e-5);
                end(&life);
        }
        json_decref(life.annotations);
}

/* The first seconds of a controller are no peak to a controller that begins soon after it. */
TEST(first_seconds_are_no_peak) {
        struct life life = new_node();

        begin(&life);
        scrape(&life, 0.95, MS_PER_MIN);
        write_plan(&life);
        assert_float_equal(value(&life, MAX), 0.95, 1e-6);
        end(&life);
        begin(&life);
        scrape(&life, 0.1, 10 * MS_PER_MIN);
        assert_float_equal(value(&life, MAX), 0.1, 1e-6);
        end(&life);
        json_decref(life.annotations);
}

/* But they do not hide the peak that was known before them. */
TEST(first_seconds_hide_no_peak) {
        struct life life = new_node();

        begin(&life);
        scrape(&life, 0.6, 10 * MS_PER_MIN);
        write_plan(&life);
        for (int i = 0; i < 2; i++) {
                pass(&life, 15 * MS_PER_MIN);
                end(&life);
                begin(&life);
                scrape(&life, i == 0 ? 0.95 : 0.1, MS_PER_MIN);
                write_plan(&life);
        }
        assert_float_equal(value(&life, MAX), 0.6, 1e-5);
        end(&life);
        json_decref(life.annotations);
}

/* An older version, which leaves the time of a peak as it was, may write for a while: after ten
 * minutes of ours, and after one, in which nothing was remembered. What it saw is not lost. */
TEST(an_older_version_in_between) {
        static const int64_t lives_ms[] = {10 * MS_PER_MIN, MS_PER_MIN};

        for (size_t i = 0; i < ARRAY_LEN(lives_ms); i++) {
                struct life life = new_node();
                begin(&life);
                scrape(&life, 0.5, lives_ms[i]);
                write_plan(&life);
                end(&life);
                pass(&life, 25 * MS_PER_MIN);
                annotate(&life, "cpu_usage_max_avg_1h", "0.90000,2026-07-23T11:45:54Z");
                for (int restart = 0; restart < 2; restart++) {
                        begin(&life);
                        for (int64_t ms = 0; ms < 10 * MS_PER_MIN; ms += MS_PER_MIN) {
                                scrape(&life, 0.2, MS_PER_MIN);
                                write_plan(&life);
                        }
                        assert_float_equal(value(&life, MAX), 0.9F, 1e-5);
                        end(&life);
                }
                json_decref(life.annotations);
        }
}

/* The leader's peaks are a standby's as well, also of a minute in which its own scrapes failed. */
TEST(a_standby_learns) {
        struct life leader = new_node(), standby;

        begin(&leader);
        standby = leader;
        begin(&standby);
        scrape(&leader, 0.2, 20 * MS_PER_MIN);
        scrape(&standby, 0.2, 20 * MS_PER_MIN);
        scrape(&leader, 0.9, 2 * MS_PER_MIN);
        pass(&standby, 2 * MS_PER_MIN);
        scrape(&leader, 0.2, 20 * MS_PER_MIN);
        scrape(&standby, 0.2, 20 * MS_PER_MIN);
        double peak = value(&leader, MAX);
        assert_true(peak > 0.4);
        assert_float_equal(value(&standby, MAX), 0.2, 1e-6);
        write_plan(&leader);
        node_track_annotations(&standby.track, standby.annotations, standby.now_mono_ms,
                               standby.now_unix_ms);
        assert_float_equal(value(&standby, MAX), peak, 1e-5);
        /* It is as old for the one as for the other. */
        scrape(&standby, 0.2, 46 * MS_PER_MIN);
        assert_float_equal(value(&standby, MAX), 0.2, 1e-6);
        end(&standby);
        end(&leader);
        json_decref(leader.annotations);
}

/* A peak is written before its metric's turn, with the next patch: three hours are long. */
TEST(a_new_peak_rides_along) {
        struct life life = new_node();

        begin(&life);
        scrape(&life, 0.2, 10 * MS_PER_MIN);
        write_plan(&life);
        scrape(&life, 0.7, 5 * MS_PER_MIN);
        write_plan(&life);
        const char *metric = json_string_value(
                json_object_get(life.annotations, "cpu_usage_max_avg_1h"));
        assert_string_equal(metric, "0.20000,2026-07-23T11:35:39Z"); /* of the last scrape */
        end(&life);
        begin(&life);
        scrape(&life, 0.1, MS_PER_MIN);
        assert_float_equal(value(&life, MAX), 0.7, 1e-2);
        end(&life);
        json_decref(life.annotations);
}

/* What a new policy asks for may stand on the node already. */
TEST(another_policy) {
        struct life life = new_node();

        annotate(&life, "mem_usage_max_avg_1d", "0.80000,2026-07-23T05:00:00Z");
        begin(&life);
        scrape(&life, 0.2, 10 * MS_PER_MIN);
        struct compiled_policy *next = new_rules(longer_text);
        node_track_replan(&life.track, next, life.now_mono_ms, life.now_unix_ms);
        compiled_policy_free(life.compiled);
        life.compiled = next;
        scrape(&life, 0.2, MS_PER_MIN);
        assert_float_equal(value(&life, 0), 0.8, 1e-5);
        end(&life);
        json_decref(life.annotations);
}
