/* One node: readings in, values out, and what its own annotations tell. */
#include "tests/unit/fixture/compiled_policy.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/track/node_track.h"

/* 2026-07-23T11:25:54Z */
static const int64_t now_unix_ms = INT64_C(1784805954000);
static const int64_t now_mono_ms = INT64_C(5000000);

static const char policy_text[] = "  syncPolicy:\n"
                                  "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                  "  - {name: cpu_usage_max_avg_1h, period: 15m}\n"
                                  "  - {name: gpu_busy, period: 3m}\n";

static struct compiled_policy *new_rules(const char *text) {
        return compiled_policy_of(text, 15 * MS_PER_S);
}

static void scrape_cpu(struct node_track *track, const struct compiled_policy *compiled,
                       double ratio, int64_t at_mono_ms) {
        struct window_step step = {.at_mono_ms = at_mono_ms, .counters = 1u << METRIC_CPU};

        step.num[METRIC_CPU] = ratio * 15;
        step.den[METRIC_CPU] = 15;
        node_track_reading(track, 0, &(struct source_reading){.step = &step}, at_mono_ms);
}

static void annotate(struct node_track *track, const struct compiled_policy *compiled,
                     const char *text) {
        json_auto_t *annotations = json_loads(text, 0, NULL);

        assert_non_null(annotations);
        node_track_annotations(track, annotations, now_mono_ms, now_unix_ms);
}

TEST(values) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);
        struct node_track track;
        struct plan_values values;

        node_track_init(&track, compiled, now_mono_ms);
        node_track_values(&track, now_mono_ms, &values);
        assert_int_equal(values.usable, 0);
        assert_string_not_equal(node_track_why(&track, 0, now_mono_ms), "");

        scrape_cpu(&track, compiled, 0.4, now_mono_ms);
        scrape_cpu(&track, compiled, 0.4, now_mono_ms + 15000);
        node_track_values(&track, now_mono_ms + 15000, &values);
        assert_int_equal(values.usable, 3);
        assert_float_equal(values.ratio[0], 0.4, 1e-6);
        assert_string_equal(node_track_why(&track, 0, now_mono_ms + 15000), "");
        assert_string_equal(node_track_why(&track, 2, now_mono_ms + 15000),
                            "the exporter has no such gauge");

        /* The windows would still answer, but nobody has looked for too long. */
        node_track_values(&track, now_mono_ms + 15000 + 60000, &values);
        assert_int_equal(values.usable, 3);
        assert_int_equal(values.age_ms[0], 60000);
        node_track_values(&track, now_mono_ms + 15000 + 60001, &values);
        assert_int_equal(values.usable, 0);
        assert_string_equal(node_track_why(&track, 1, now_mono_ms + 15000 + 60001),
                            "the last scrape is too old");
        node_track_done(&track);
}

/* The longest mean whose window is not full says how far back it reaches; a maximum does not. */
TEST(covered) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(
                "  syncPolicy:\n"
                "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                "  - {name: cpu_usage_avg_2m, period: 3m}\n"
                "  - {name: cpu_usage_max_avg_1h, period: 15m}\n");
        struct node_track track;
        struct plan_values values;

        node_track_init(&track, compiled, now_mono_ms);
        for (int64_t after_ms = 0; after_ms <= 6 * MS_PER_MIN; after_ms += 15000) {
                scrape_cpu(&track, compiled, 0.4, now_mono_ms + after_ms);
                node_track_values(&track, now_mono_ms + after_ms, &values);
                /* Almost full is full. */
                int64_t expected_ms = after_ms < 270000 ? after_ms : 0;
                if (values.covered_ms < expected_ms - 1 || values.covered_ms > expected_ms)
                        fail_msg("%lld ms after %lld", (long long)values.covered_ms,
                                 (long long)after_ms);
        }
        node_track_done(&track);
}

TEST(ready_made) {
        static const double ratios[3] = {[2] = 0.7};
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);
        struct node_track track;
        struct plan_values values;

        node_track_init(&track, compiled, now_mono_ms);
        node_track_reading(&track, 0,
                           &(struct source_reading){.ready = 1u << 2, .values_ratio = ratios},
                           now_mono_ms);
        node_track_values(&track, now_mono_ms, &values);
        assert_int_equal(values.usable, 4);
        assert_float_equal(values.ratio[2], 0.7, 0);
        node_track_values(&track, now_mono_ms + 7000, &values);
        assert_int_equal(values.age_ms[2], 7000);
        /* The same page again, and one without it. */
        node_track_reading(&track, 0, &(struct source_reading){0}, now_mono_ms + 15000);
        node_track_values(&track, now_mono_ms + 20000, &values);
        assert_int_equal(values.usable, 4);
        assert_int_equal(values.age_ms[2], 20000);
        scrape_cpu(&track, compiled, 0.4, now_mono_ms + 30000);
        node_track_values(&track, now_mono_ms + 30000, &values);
        assert_int_equal(values.usable, 0);
        node_track_done(&track);
}

TEST(seeds) {
        static const struct {
                const char *annotations;
                double expected; /* of max_avg_1h, when the cpu is at 0.2 */
        } rows[] = {
                {"{\"cpu_usage_max_avg_1h\":\"0.90000,2026-07-23T10:55:54Z\"}", 0.9},
                {"{\"cpu_usage_avg_5m\":\"0.80000,2026-07-23T11:20:54Z\"}", 0.8},
                {"{\"cpu_usage_max_avg_1h\":\"0.90000,2026-07-23T10:20:00Z\"}", 0.2}, /* too old */
                {"{\"cpu_usage_max_avg_1h\":\"34.2,2026-07-23T11:20:54Z\"}",
                 0.2}, /* a percentage */
                {"{\"cpu_usage_max_avg_1h\":\"0.9,2026-07-23T12:25:54Z\"}",
                 0.2}, /* an hour ahead */
                {"{\"cpu_usage_max_avg_1h\":\"0.9,2026-07-23T11:26:24Z\"}", 0.9}, /* 30 s ahead */
                {"{\"cpu_usage_max_avg_1h\":\"nan,2026-07-23T11:20:54Z\"}", 0.2},
                {"{\"cpu_usage_max_avg_1h\":0.9}", 0.2},
                {"{\"cpu_usage_max_avg_1h\":[]}", 0.2},
                {"{\"cpu_usage_max_avg_1h\":\"\"}", 0.2},
                {"{}", 0.2},
        };
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct node_track track;
                struct plan_values values;
                node_track_init(&track, compiled, now_mono_ms);
                annotate(&track, compiled, rows[i].annotations);
                scrape_cpu(&track, compiled, 0.2, now_mono_ms + 1);
                /* Once we look ourselves, what is written there is no news. */
                annotate(&track, compiled,
                         "{\"cpu_usage_max_avg_1h\":\"0.99000,2026-07-23T11:25:53Z\"}");
                scrape_cpu(&track, compiled, 0.2, now_mono_ms + 15001);
                node_track_values(&track, now_mono_ms + 15001, &values);
                if (values.ratio[1] < rows[i].expected - 1e-5 ||
                    values.ratio[1] > rows[i].expected + 1e-5)
                        fail_msg("%s: %g", rows[i].annotations, values.ratio[1]);
                node_track_done(&track);
        }
}

/* Anybody who writes in the meantime knows of peaks that we cannot see. */
TEST(peaks_while_scrapes_fail) {
        static const char later[] = "{\"cpu_usage_max_avg_1h\":\"0.90000,2026-07-23T11:25:53Z\"}";
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);
        struct node_track track;
        struct plan_values values;
        int64_t at_ms = now_mono_ms - 10 * MS_PER_MIN;

        node_track_init(&track, compiled, now_mono_ms);
        annotate(&track, compiled, "{}");
        scrape_cpu(&track, compiled, 0.2, at_ms);
        scrape_cpu(&track, compiled, 0.2, at_ms + 15000);
        annotate(&track, compiled, later); /* ten minutes after the last scrape */
        at_ms = now_mono_ms + 15000;
        scrape_cpu(&track, compiled, 0.2, at_ms);
        scrape_cpu(&track, compiled, 0.2, at_ms + 15000);
        node_track_values(&track, at_ms + 15000, &values);
        assert_int_equal(values.usable & 2, 2);
        assert_float_equal(values.ratio[1], 0.9, 1e-6);
        /* It is forgotten with its window, as any other. */
        at_ms = now_mono_ms + 62 * MS_PER_MIN;
        scrape_cpu(&track, compiled, 0.2, at_ms);
        scrape_cpu(&track, compiled, 0.2, at_ms + 15000);
        node_track_values(&track, at_ms + 15000, &values);
        assert_float_equal(values.ratio[1], 0.2, 1e-6);
        node_track_done(&track);
}

TEST(written_by_others) {
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);
        struct node_track track;

        node_track_init(&track, compiled, now_mono_ms);
        annotate(&track, compiled, "{\"cpu_usage_avg_5m\":\"0.50000,2026-07-23T11:20:00Z\"}");
        assert_int_equal(track.record->metrics[0].at_unix_ms,
                         INT64_C(1784805600000)); /* 11:20:00 */
        assert_true(track.record->metrics[1].at_unix_ms == PLAN_NEVER);
        /* An older state of the node arrives late: our later write stands. */
        annotate(&track, compiled, "{\"cpu_usage_avg_5m\":\"0.40000,2026-07-23T11:17:00Z\"}");
        assert_float_equal(track.record->metrics[0].value, 0.5, 0);
        annotate(&track, compiled, "{\"cpu_usage_avg_5m\":\"0.60000,2026-07-23T11:23:00Z\"}");
        assert_float_equal(track.record->metrics[0].value, 0.6, 0);
        /* Somebody took them away. */
        node_track_annotations(&track, NULL, now_mono_ms, now_unix_ms);
        assert_true(track.record->metrics[0].at_unix_ms == PLAN_NEVER);
        node_track_done(&track);
}

TEST(replan) {
        static const char other[] = "  syncPolicy:\n"
                                    "  - {name: mem_usage_avg_5m, period: 1m}\n"
                                    "  - {name: cpu_usage_avg_5m, period: 1m}\n";
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(policy_text);
        _cleanup_(compiled_policy_freep) struct compiled_policy *next = new_rules(other);
        struct node_track track;
        struct plan_values values;

        node_track_init(&track, compiled, now_mono_ms);
        scrape_cpu(&track, compiled, 0.4, now_mono_ms);
        scrape_cpu(&track, compiled, 0.4, now_mono_ms + 15000);
        node_track_replan(&track, next, now_mono_ms, now_unix_ms);
        node_track_values(&track, now_mono_ms + 15000, &values);
        assert_int_equal(values.usable, 2);
        assert_float_equal(values.ratio[1], 0.4, 1e-6);
        node_track_done(&track);
}

/* The policy's own resources keep their history when their order changes, and lose it when they
 * become something else; why they are not known is told. */
TEST(own_resources) {
        static const char head[] = "  syncPolicy: [{name: gpu_usage_avg_5m, period: 1m}, "
                                   "{name: ssd_usage_avg_5m, period: 1m}]\n"
                                   "  metrics:\n";
        static const char gpu[] = "  - {name: gpu, series: g, kind: gauge, capacity: 100}\n";
        static const char ssd[] = "  - {name: ssd, series: s, kind: gauge, capacity: 100}\n";
        static const char ssd10[] = "  - {name: ssd, series: s, kind: gauge, capacity: 10}\n";
        _cleanup_(freep) char *text = xasprintf("%s%s%s", head, gpu, ssd);
        _cleanup_(freep) char *swapped = xasprintf("%s%s%s", head, ssd, gpu);
        _cleanup_(freep) char *changed = xasprintf("%s%s%s", head, gpu, ssd10);
        _cleanup_(compiled_policy_freep) struct compiled_policy *compiled = new_rules(text);
        _cleanup_(compiled_policy_freep) struct compiled_policy *next = new_rules(swapped);
        _cleanup_(compiled_policy_freep) struct compiled_policy *last = new_rules(changed);
        const char *why[WINDOW_MAX_CHANNELS] = {NULL};
        struct window_step step = {.gauges = 1u << METRIC_RESOURCE_COUNT};
        struct node_track track;
        struct plan_values values;

        why[METRIC_RESOURCE_COUNT + 1] = "no series on the page matches its name and labels";
        step.num[METRIC_RESOURCE_COUNT] = 0.25;
        node_track_init(&track, compiled, now_mono_ms);
        for (int64_t i = 0; i < 2; i++) {
                step.at_mono_ms = now_mono_ms + 15000 * i;
                node_track_reading(&track, 0, &(struct source_reading){.step = &step, .why = why},
                                   step.at_mono_ms);
        }
        node_track_values(&track, now_mono_ms + 15000, &values);
        assert_int_equal(values.usable, 1);
        assert_string_equal(node_track_why(&track, 1, now_mono_ms + 15000),
                            "no series on the page matches its name and labels");

        node_track_replan(&track, next, now_mono_ms, now_unix_ms);
        node_track_values(&track, now_mono_ms + 15000, &values);
        assert_int_equal(values.usable, 1);
        assert_float_equal(values.ratio[0], 0.25, 1e-6);
        assert_string_equal(node_track_why(&track, 1, now_mono_ms + 15000),
                            window_status_text(WINDOW_NO_DATA));

        step.gauges |= 1u << (METRIC_RESOURCE_COUNT + 1);
        step.num[METRIC_RESOURCE_COUNT] = 0.75; /* ssd now */
        step.num[METRIC_RESOURCE_COUNT + 1] = 0.25;
        step.at_mono_ms = now_mono_ms + 30000;
        node_track_reading(&track, 0, &(struct source_reading){.step = &step}, step.at_mono_ms);
        node_track_values(&track, now_mono_ms + 30000, &values);
        assert_int_equal(values.usable, 3);
        assert_float_equal(values.ratio[1], 0.75, 1e-6);

        node_track_replan(&track, last, now_mono_ms, now_unix_ms);
        node_track_values(&track, now_mono_ms + 30000, &values);
        assert_int_equal(values.usable, 1);
        node_track_done(&track);
}
