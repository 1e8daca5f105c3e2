/* What the Event about a node says. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/compiled_policy.h"

#include "controller/writing/load_events.h"

#define POLICY                                                                                     \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: 0.5}]\n"

static const struct window_step cpu_step = {.gauges = UINT32_C(1) << METRIC_CPU,
                                            .num[METRIC_CPU] = 0.75};

static const struct plan_values hot = {.usable = 1, .ratio = {0.75}};

TEST(messages) {
        static const struct {
                const char *policy;
                const struct plan_values *values; /* NULL: its reading is not fresh */
                bool is_read;
                const char *failure, *message; /* NULL: no Event */
        } rows[] = {
                {POLICY, &hot, true, NULL, "\"message\":\"cpu_usage_avg_5m 0.75 above limit 0.5\""},
                {POLICY, NULL, false, "refused", "\"message\":\"no usable reading: refused\""},
                {POLICY, NULL, false, NULL, "\"message\":\"no usable reading: "},
                /* The first metric is known: it is not the reason. */
                {POLICY, NULL, true, NULL, "\"message\":\"no usable reading\""},
                {"  syncPolicy: []\n", NULL, false, NULL, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                static const struct kube_fence no_fence = {0};
                struct compiled_policy *compiled = compiled_policy_of(rows[i].policy, 1000);
                struct load_history history = {0};
                struct node_track track;
                struct api_fixture f = {0};
                if (rows[i].message)
                        api_answer(&f, 201, "{}", "/node-1.plimsoll-", rows[i].message);
                api_start(&f);
                struct recorder *recorder = recorder_new(&f.daemon);
                recorder_set_writer(recorder, &no_fence);
                node_track_init(&track, compiled, loop_now_mono_ms(f.rig.loop));
                if (rows[i].failure)
                        node_track_failed(&track, 0, rows[i].failure);
                for (int again = 0; again < 2; again++) { /* when a state has stayed */
                        int64_t now_mono_ms = loop_now_mono_ms(f.rig.loop) + again * MS_PER_HOUR;
                        struct window_step step = cpu_step;
                        for (int ago_s = 1; ago_s >= 0 && rows[i].is_read; ago_s--) {
                                step.at_mono_ms = now_mono_ms - ago_s * MS_PER_S;
                                node_track_reading(&track, 0,
                                                   &(struct source_reading){.step = &step},
                                                   step.at_mono_ms);
                        }
                        load_events_report(recorder, &history, &track, "node-1", rows[i].values,
                                           now_mono_ms);
                        load_events_report(NULL, &history, &track, "node-1", rows[i].values,
                                           now_mono_ms);
                }
                api_run_quiet(&f);
                recorder_free(recorder);
                node_track_done(&track);
                compiled_policy_free(compiled);
                api_stop(&f);
        }
}
