/* Which of several sources a node's values come from. */
#include "tests/unit/fixture/policy.h"

#include "base/clock.h"
#include "controller/track/node_track.h"

enum { FIRST, SECOND, THIRD, EXTRA, SOURCES };

static const int64_t start_ms = INT64_C(5000000);
static const int64_t every_ms = 15 * MS_PER_S;

static const char policy_text[] = "  metrics:\n"
                                  "  - {name: gpu, exporter: dcgm, series: GPU, kind: gauge, "
                                  "reduce: max, capacity: 100}\n"
                                  "  syncPolicy:\n"
                                  "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                  "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                  "  - {name: mem_usage_avg_5m, period: 3m}\n"
                                  "  - {name: gpu_usage_avg_5m, period: 3m}\n";

enum { CPU_AVG, CPU_MAX, MEM_AVG, GPU_AVG };

/* The first three in order of preference: windows, windows once a minute, ready-made values. */
static struct compiled_policy *new_rules(void) {
        return compiled_policy_new(
                policy_of(policy_text),
                &(struct compiled_policy_options){
                        .style = {.prefix = ""},
                        .sources = {[FIRST] = {.interval_ms = every_ms},
                                    [SECOND] = {.interval_ms = MS_PER_MIN},
                                    [THIRD] = {.interval_ms = every_ms, .is_ready_made = true},
                                    [EXTRA] = {.interval_ms = every_ms, .scope.exporter = "dcgm"}},
                        .source_count = SOURCES,
                });
}

struct world {
        struct compiled_policy *compiled;
        struct node_track track;
        int64_t now_ms;
};

static int set_up(void **state) {
        struct world *world = calloc(1, sizeof(*world));

        world->compiled = new_rules();
        world->now_ms = start_ms;
        node_track_init(&world->track, world->compiled, world->now_ms);
        *state = world;
        return 0;
}

static int tear_down(void **state) {
        struct world *world = *state;

        node_track_done(&world->track);
        compiled_policy_free(world->compiled);
        free(world);
        return 0;
}

/* The source in use, after it was decided again. */
static size_t serving(struct world *world) {
        size_t from;

        (void)node_track_switch(&world->track, world->now_ms, &from);
        return world->track.serving;
}

static void says(struct world *world, size_t source, double cpu, double mem) {
        struct window_step step = {.at_mono_ms = world->now_ms,
                                   .gauges = (1u << METRIC_CPU) | (1u << METRIC_MEM)};

        step.num[METRIC_CPU] = cpu;
        step.num[METRIC_MEM] = mem;
        node_track_reading(&world->track, source, &(struct source_reading){.step = &step},
                           world->now_ms);
}

static void says_ready(struct world *world, size_t source, uint64_t ready, double ratio) {
        const double ratios[POLICY_MAX_METRICS] = {ratio, ratio, ratio, ratio};

        node_track_reading(&world->track, source,
                           &(struct source_reading){.ready = ready, .values_ratio = ratios},
                           world->now_ms);
}

static double value(const struct world *world, size_t metric) {
        struct plan_values values;

        node_track_values(&world->track, world->now_ms, &values);
        return values.usable & (UINT64_C(1) << metric) ? values.ratio[metric] : -1;
}

/* The node's annotations are those of a controller that measured this peak a minute ago. */
static void carries_peak(struct world *world, const char *ratio) {
        _cleanup_(freep) char *text = xasprintf("%s,2026-07-23T11:25:00Z", ratio);
        json_auto_t *annotations = json_pack("{s:s}", "cpu_usage_max_avg_1h_peak", text);

        node_track_annotations(&world->track, annotations, world->now_ms, INT64_C(1784805960000));
}

/* What happens, a letter per interval: the first source answers (.), fails (x) or is silent ( );
 * the second one answers whenever it is asked. Then who serves at the end of each. */
TEST(sequences) {
        static const struct {
                const char *first, *serves;
        } rows[] = {
                {"......", "000000"},         {"..x...", "000000"}, /* one failure is none */
                {"..x.x.x.", "00000000"},     /* nor are some, unless in a row */
                {"..xxxxxx", "00011111"},     /* two in a row are */
                {"..xx.x.x..", "0001111110"}, /* and then it takes two good ones in a row */
                {"..xx..", "000110"},         {"x.....", "000000"}, /* awaited at the start */
                {"xx....", "011000"},   /* but not for long; the good ones begin with the third */
                {"..     ", "0000001"}, /* silence counts after four intervals, here a minute */
                {"..      ..", "0000001110"}, /* and then takes two answers as well */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct world *world = NULL;
                void *made = NULL;
                char said[32] = "";
                (void)set_up(&made);
                world = made;
                for (size_t at = 0; rows[i].first[at]; at++) {
                        if (rows[i].first[at] == '.')
                                says(world, FIRST, 0.1, 0.1);
                        else if (rows[i].first[at] == 'x')
                                node_track_failed(&world->track, FIRST, "refused");
                        if (node_track_needs(&world->track, SECOND, world->now_ms))
                                says(world, SECOND, 0.2, 0.2);
                        said[at] = (char)('0' + serving(world));
                        world->now_ms += every_ms;
                }
                if (strcmp(said, rows[i].serves) != 0)
                        fail_msg("\"%s\": %s, not %s", rows[i].first, said, rows[i].serves);
                (void)tear_down(&made);
        }
}

TEST_BETWEEN(nobody_left, set_up, tear_down) {
        struct world *world = *state;

        says(world, FIRST, 0.1, 0.1);
        says(world, SECOND, 0.2, 0.2);
        world->now_ms += every_ms;
        for (size_t i = 0; i < 2; i++)
                for (size_t source = 0; source < SOURCES; source++)
                        node_track_failed(&world->track, source, "refused");
        /* None serves; what the first said last is still good for a while... */
        assert_int_equal(serving(world), FIRST);
        assert_true(node_track_is_fresh(&world->track, world->now_ms));
        /* ...then the second's, whose readings are due less often... */
        world->now_ms = start_ms + MS_PER_MIN + 1;
        assert_int_equal(serving(world), SECOND);
        /* ...and at last nobody's: that is no reason to switch again. */
        world->now_ms += 4 * MS_PER_MIN;
        assert_int_equal(serving(world), SECOND);
        assert_false(node_track_is_fresh(&world->track, world->now_ms));
        assert_string_equal(node_track_failure(&world->track), "refused");
}

/* One that has just failed serves until another one speaks: in the meantime the node counts as
 * read. */
TEST_BETWEEN(never_heard, set_up, tear_down) {
        struct world *world = *state;

        says(world, FIRST, 0.1, 0.1);
        for (int i = 0; i < 2; i++) {
                world->now_ms += every_ms;
                node_track_failed(&world->track, FIRST, "refused");
        }
        assert_int_equal(serving(world), FIRST);
        assert_true(node_track_is_fresh(&world->track, world->now_ms));
        says_ready(world, THIRD, 1u << MEM_AVG, 0.7);
        assert_int_equal(serving(world), THIRD);
        says(world, SECOND, 0.2, 0.2);
        assert_int_equal(serving(world), SECOND);
}

/* Of thousands of exporters that do not answer, most wait for minutes for the attempt that fails a
 * second time: those behind them need not wait for that. */
TEST_BETWEEN(never_heard_for_long, set_up, tear_down) {
        struct world *world = *state;
        const struct node_track *track = &world->track;

        node_track_failed(&world->track, FIRST, "timeout");
        world->now_ms += MS_PER_MIN;
        assert_false(node_track_needs(track, SECOND, world->now_ms));
        world->now_ms++;
        assert_true(node_track_needs(track, SECOND, world->now_ms));
        says(world, SECOND, 0.2, 0.2);
        assert_int_equal(serving(world), SECOND);
        says(world, FIRST, 0.1, 0.1);
        assert_int_equal(serving(world), FIRST);
}

/* All of a chain that fails get their turns, from the one in use on. */
TEST_BETWEEN(settles, set_up, tear_down) {
        struct world *world = *state;

        assert_int_equal(node_track_settle_ms(&world->track), 4 * (2 * every_ms + MS_PER_MIN));
        world->compiled->sources[SECOND].is_used = false;
        assert_int_equal(node_track_settle_ms(&world->track), 4 * 2 * every_ms);
        world->track.serving = THIRD;
        assert_int_equal(node_track_settle_ms(&world->track), 4 * every_ms);
}

/* What a node does every second: the first source is asked at its instant in an interval, and
 * answers, or its attempt ends as a failure 10 s later; the second is asked at its own instant. */
static void pass_second(struct world *world, bool is_failing, int64_t offset_ms, uint64_t ready) {
        int64_t at_ms = world->now_ms - start_ms;
        int64_t second_ms = world->compiled->options.sources[SECOND].interval_ms;

        if (!is_failing && at_ms % every_ms == 0)
                says(world, FIRST, 0.5, 0.5);
        if (is_failing && at_ms % every_ms == 10 * MS_PER_S)
                node_track_failed(&world->track, FIRST, "timeout");
        if (at_ms % second_ms == offset_ms % second_ms &&
            node_track_needs(&world->track, SECOND, world->now_ms)) {
                if (ready)
                        says_ready(world, SECOND, ready, 0.5);
                else
                        says(world, SECOND, 0.5, 0.5);
        }
        (void)serving(world);
        world->now_ms += MS_PER_S;
}

/* A metric is never missing for as long as a reading would be fresh, wherever the instants of the
 * two sources lie, also when the second one has served before, long ago; and it stays whole. */
TEST_BETWEEN(failover, set_up, tear_down) {
        static const struct {
                int64_t second_ms;
                uint64_t ready;
        } rows[] = {{15 * MS_PER_S, 0},
                    {MS_PER_MIN, 0},
                    {30 * MS_PER_S, 1u << CPU_AVG | 1u << CPU_MAX | 1u << MEM_AVG}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                for (int64_t offset_ms = 0; offset_ms < rows[i].second_ms; offset_ms += MS_PER_S) {
                        struct world *world = *state;
                        int64_t missing_ms = 0;
                        node_track_done(&world->track);
                        world->compiled->options.sources[SECOND].interval_ms = rows[i].second_ms;
                        world->now_ms = start_ms;
                        node_track_init(&world->track, world->compiled, world->now_ms);
                        for (int s = 0; s < 3600; s++) {
                                bool is_failing = (s >= 600 && s < 900) || s >= 2400;
                                pass_second(world, is_failing, offset_ms, rows[i].ready);
                                if (s < 20)
                                        continue;
                                double now = value(world, CPU_AVG);
                                missing_ms = now < 0 ? missing_ms + MS_PER_S : 0;
                                assert_true(missing_ms < MS_PER_MIN);
                                if (now >= 0)
                                        assert_float_equal(now, 0.5, 1e-6);
                        }
                        assert_int_equal(serving(world), SECOND);
                }
        }
}

/* The windows go on from source to source: a mean of both, and the larger maximum. */
TEST_BETWEEN(values, set_up, tear_down) {
        struct world *world = *state;

        for (int i = 0; i < 20; i++, world->now_ms += every_ms)
                says(world, FIRST, 0.8, 0.8);
        for (int i = 0; i < 2; i++)
                node_track_failed(&world->track, FIRST, "timeout");
        for (int i = 0; i < 10; i++, world->now_ms += every_ms)
                says(world, SECOND, 0.2, 0.2);
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, CPU_AVG), 0.5, 0.02);
        assert_float_equal(value(world, CPU_MAX), 0.8, 1e-6);
        /* One good reading of the first is not enough, nor is it mixed in. */
        says(world, FIRST, 0.9, 0.9);
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, CPU_AVG), 0.5, 0.02);
}

static void counts(struct world *world, size_t source, double used_s, double span_s) {
        struct window_step step = {.at_mono_ms = world->now_ms, .counters = 1u << METRIC_CPU};

        step.num[METRIC_CPU] = used_s;
        step.den[METRIC_CPU] = span_s;
        node_track_reading(&world->track, source, &(struct source_reading){.step = &step},
                           world->now_ms);
        (void)serving(world);
}

/* A source that is back has counted all the time that it was away, of which others have told. */
TEST_BETWEEN(counters, set_up, tear_down) {
        struct world *world = *state;

        for (int i = 0; i < 20; i++, world->now_ms += every_ms)
                counts(world, FIRST, 3, 15);
        for (int i = 0; i < 2; i++)
                node_track_failed(&world->track, FIRST, "refused");
        for (int i = 0; i < 20; i++, world->now_ms += every_ms)
                counts(world, SECOND, 3, 15);
        for (int i = 0; i < 3; i++, world->now_ms += every_ms) {
                counts(world, FIRST, i == 0 ? 300 : 3, i == 0 ? 300 : 15);
                counts(world, SECOND, 3, 15);
        }
        assert_int_equal(serving(world), FIRST);
        assert_float_equal(value(world, CPU_AVG), 0.2, 1e-6);
        assert_float_equal(value(world, CPU_MAX), 0.2, 1e-6);
        /* One that answers again after hours, when nobody else does. */
        world->now_ms += MS_PER_HOUR;
        counts(world, SECOND, 3600, 3600);
        world->now_ms += every_ms;
        counts(world, SECOND, 3, 15);
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, CPU_AVG), 0.2, 1e-6);
}

/* With spec.idle one source may leave out of the CPU what the other counts: its means begin again,
 * and those of other resources go on. */
TEST_BETWEEN(idle_cpu, set_up, tear_down) {
        struct world *world = *state;

        world->compiled->policy->idle_line_ratio = 0.65;
        for (int i = 0; i < 20; i++, world->now_ms += every_ms)
                says(world, FIRST, 0.1, 0.1);
        for (int i = 0; i < 2; i++)
                node_track_failed(&world->track, FIRST, "refused");
        for (int i = 0; i < 4; i++, world->now_ms += every_ms)
                says(world, SECOND, 0.9, 0.9);
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, CPU_AVG), 0.9, 1e-6);
        assert_float_equal(value(world, MEM_AVG), 0.25, 0.01);
        for (int i = 0; i < 2; i++, world->now_ms += every_ms)
                says(world, FIRST, 0.1, 0.1);
        assert_int_equal(serving(world), FIRST);
        assert_float_equal(value(world, CPU_AVG), 0.1, 1e-6);
        carries_peak(world, "0.70000");
        assert_float_equal(value(world, CPU_MAX), 0.7, 1e-6);
}

/* A metric that the source in use does not measure has no value, although the windows have some of
 * it; ready-made values go with the source that made them. */
TEST_BETWEEN(per_metric, set_up, tear_down) {
        struct world *world = *state;

        world->compiled->options.sources[SECOND].scope.resources = 1u << METRIC_CPU;
        for (int i = 0; i < 3; i++, world->now_ms += every_ms)
                says(world, FIRST, 0.1, 0.1);
        assert_float_equal(value(world, MEM_AVG), 0.1, 1e-6);
        for (int i = 0; i < 2; i++)
                node_track_failed(&world->track, FIRST, "refused");
        says(world, SECOND, 0.1, 0.1);
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, MEM_AVG), -1, 0);
        assert_float_equal(value(world, CPU_AVG), 0.1, 1e-6);
        assert_string_equal(node_track_why(&world->track, MEM_AVG, world->now_ms),
                            "the node's source does not measure it");
        for (int i = 0; i < 2; i++)
                node_track_failed(&world->track, SECOND, "refused");
        says_ready(world, THIRD, 1u << MEM_AVG, 0.7);
        assert_int_equal(serving(world), THIRD);
        assert_float_equal(value(world, MEM_AVG), 0.7, 0);
        assert_string_equal(node_track_why(&world->track, MEM_AVG, world->now_ms), "");
        for (int i = 0; i < 2; i++, world->now_ms += every_ms)
                says(world, FIRST, 0.1, 0.1);
        assert_float_equal(value(world, MEM_AVG), 0.1, 1e-6);
}

/* An exporter says what is declared with its name, and is never taken for the node's source. */
TEST_BETWEEN(exporter, set_up, tear_down) {
        struct world *world = *state;
        struct window_step step = {.gauges = (1u << METRIC_RESOURCE_COUNT) | (1u << METRIC_CPU)};

        assert_int_equal(world->compiled->ordered_count, EXTRA);
        assert_true(world->compiled->sources[EXTRA].is_used);
        step.num[METRIC_RESOURCE_COUNT] = 0.6;
        step.num[METRIC_CPU] = 0.9;
        for (int i = 0; i < 2; i++, world->now_ms += every_ms) {
                for (size_t source = 0; source < EXTRA; source++)
                        node_track_failed(&world->track, source, "refused");
                step.at_mono_ms = world->now_ms;
                node_track_reading(&world->track, EXTRA, &(struct source_reading){.step = &step},
                                   world->now_ms);
        }
        assert_int_not_equal(serving(world), EXTRA);
        assert_false(node_track_is_fresh(&world->track, world->now_ms));
        assert_float_equal(value(world, GPU_AVG), 0.6, 1e-6);
        assert_float_equal(value(world, CPU_AVG), -1, 0);
}

/* The peaks of the node's annotations, no matter who serves. */
TEST_BETWEEN(peaks, set_up, tear_down) {
        struct world *world = *state;
        json_auto_t *annotations = json_pack("{s:s}", "cpu_usage_max_avg_1h",
                                             "0.70000,2026-07-23T11:25:00Z");

        node_track_annotations(&world->track, annotations, world->now_ms, INT64_C(1784805954000));
        for (int i = 0; i < 12; i++, world->now_ms += every_ms) {
                says(world, FIRST, 0.1, 0.1);
                says(world, SECOND, 0.2, 0.2);
        }
        assert_int_equal(serving(world), FIRST);
        assert_float_equal(value(world, CPU_MAX), 0.7, 1e-6);
        carries_peak(world, "0.90000");
        assert_float_equal(value(world, CPU_MAX), 0.9, 1e-6);
        node_track_failed(&world->track, FIRST, "refused");
        node_track_failed(&world->track, FIRST, "refused");
        assert_int_equal(serving(world), SECOND);
        assert_float_equal(value(world, CPU_MAX), 0.9, 1e-6);
}

/* Until half of five minutes is known, means and maxima may be gone soon; also those of a source
 * that takes over after one with ready-made values. */
TEST_BETWEEN(provisional, set_up, tear_down) {
        const uint64_t partial = 1u << CPU_AVG | 1u << CPU_MAX | 1u << MEM_AVG;
        struct world *world = *state;
        struct plan_values values;

        for (int i = 0; i < 20; i++, world->now_ms += every_ms) {
                says(world, FIRST, i < 4 ? 0.9 : 0.1, 0.1);
                node_track_values(&world->track, world->now_ms, &values);
                if (i >= 1)
                        assert_int_equal(values.provisional, i * 15 < 150 ? partial : 0);
        }
}

static uint32_t outcomes(const struct world *world) {
        return node_track_outcomes(&world->track, world->now_ms);
}

/* --once waits for every source that is asked, and for no other. */
TEST_BETWEEN(outcomes, set_up, tear_down) {
        struct world *world = *state;

        node_track_failed(&world->track, EXTRA, "refused");
        assert_int_equal(outcomes(world), 0);
        node_track_failed(&world->track, FIRST, "refused");
        assert_int_equal(outcomes(world), 1);
        node_track_failed(&world->track, FIRST, "refused");
        assert_int_equal(outcomes(world), 0); /* of the second, which is asked from now on */
        for (int i = 0; i < 2; i++)
                says(world, SECOND, 0.1, 0.1);
        assert_int_equal(outcomes(world), 1);
        world->compiled->sources[EXTRA].is_used = false;
        assert_int_equal(outcomes(world), 2);
}

/* An interval takes two readings: one reading and a failure before it are not enough for --once. */
TEST_BETWEEN(outcomes_after_a_failure, set_up, tear_down) {
        struct world *world = *state;

        for (size_t source = SECOND; source < SOURCES; source++)
                for (int i = 0; i < 2; i++)
                        node_track_failed(&world->track, source, "refused");
        node_track_failed(&world->track, FIRST, "refused");
        assert_int_equal(outcomes(world), 1);
        says(world, FIRST, 0.1, 0.1);
        assert_int_equal(outcomes(world), 1);
        says(world, FIRST, 0.1, 0.1);
        assert_int_equal(outcomes(world), 2);
}

/* A page that is the one before again says nothing, neither that its source is back. */
TEST_BETWEEN(repeated, set_up, tear_down) {
        struct world *world = *state;
        const struct source_reading repeated = {.values_ratio = NULL};

        for (size_t source = SECOND; source < SOURCES; source++) {
                node_track_failed(&world->track, source, "refused");
                node_track_failed(&world->track, source, "refused");
        }
        says(world, FIRST, 0.1, 0.1);
        node_track_reading(&world->track, FIRST, &repeated, world->now_ms);
        assert_int_equal(outcomes(world), 1);
        node_track_failed(&world->track, FIRST, "refused");
        assert_int_equal(outcomes(world), 2);
        node_track_failed(&world->track, FIRST, "refused");
        assert_true(world->track.feeds[FIRST].is_down);
        node_track_reading(&world->track, FIRST, &repeated, world->now_ms);
        says(world, FIRST, 0.1, 0.1);
        assert_true(world->track.feeds[FIRST].is_down);
        node_track_reading(&world->track, FIRST, &repeated, world->now_ms);
        says(world, FIRST, 0.1, 0.1);
        assert_false(world->track.feeds[FIRST].is_down);
}

/* Asked about a node only while none before it serves; exporters always. */
TEST_BETWEEN(needed, set_up, tear_down) {
        struct world *world = *state;
        const struct node_track *track = &world->track;

        assert_true(node_track_needs(track, FIRST, world->now_ms));
        assert_true(node_track_needs(track, EXTRA, world->now_ms));
        assert_false(node_track_needs(track, SECOND, world->now_ms));
        node_track_failed(&world->track, FIRST, "refused");
        assert_false(node_track_needs(track, SECOND, world->now_ms));
        node_track_failed(&world->track, FIRST, "refused");
        assert_true(node_track_needs(track, FIRST, world->now_ms));
        assert_true(node_track_needs(track, SECOND, world->now_ms));
        assert_false(node_track_needs(track, THIRD, world->now_ms));
        /* Back after two answers in a row. */
        for (int i = 0; i < 2; i++) {
                assert_true(node_track_needs(track, SECOND, world->now_ms));
                world->now_ms += every_ms;
                says(world, FIRST, 0.1, 0.1);
        }
        assert_false(node_track_needs(track, SECOND, world->now_ms));
        /* And what has not been heard for long does not serve. */
        world->now_ms += 10 * every_ms;
        assert_true(node_track_needs(track, SECOND, world->now_ms));
        /* The policy has no metric of it. */
        world->compiled->sources[SECOND].is_used = false;
        assert_false(node_track_needs(track, SECOND, world->now_ms));
}
