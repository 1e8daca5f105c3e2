/* Patches that are no longer wanted when their turn comes. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/policy.h"

#include "controller/writing/writer.h"

#define PATCH "PATCH /api/v1/nodes/a?"

static const char policy_text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n";

struct fixture {
        struct api_fixture api;
        struct compiled_policy *compiled;
        struct writer *writer;
        struct node_track track;
        struct writer_node node;
        struct node listed;
        bool is_dry_run;
        double ratio; /* of the node's one metric; below 0: none */
        size_t idle_events, stopped;
};

static void on_values(void *userdata, const struct writer_node *node, struct plan_values *ret) {
        double ratio = ((struct fixture *)userdata)->ratio;

        *ret = (struct plan_values){.usable = ratio >= 0, .ratio = {ratio}};
}

static void on_idle(void *userdata) {
        ((struct fixture *)userdata)->idle_events++;
}

static void on_stopped(void *userdata) {
        ((struct fixture *)userdata)->stopped++;
}

static void begin(struct fixture *f, bool has_turns) {
        static char name[] = "a";

        f->compiled = compiled_policy_new(
                policy_of(policy_text),
                &(struct compiled_policy_options){.style = {.prefix = ""},
                                                  .early_delta_ratio = 0.1,
                                                  .sources = {{.interval_ms = 1000}},
                                                  .source_count = 1});
        api_start(&f->api);
        f->writer = writer_new(&(struct writer_options){.daemon = &f->api.daemon,
                                                        .patches_per_s = 1000,
                                                        .patches_in_flight = 1,
                                                        .interval_ms = 1000,
                                                        .is_dry_run = f->is_dry_run,
                                                        .has_turns = has_turns,
                                                        .values = on_values,
                                                        .on_idle = on_idle,
                                                        .userdata = f},
                               f->compiled);
        node_track_init(&f->track, f->compiled);
        f->listed.name = name;
        writer_add(f->writer, &f->node, &f->listed, &f->track);
}

static void end(struct fixture *f) {
        writer_remove(&f->node);
        writer_free(f->writer);
        node_track_done(&f->track);
        compiled_policy_free(f->compiled);
        api_stop(&f->api);
}

static void read_node(struct fixture *f, double ratio) {
        struct plan_values values;

        f->ratio = ratio;
        on_values(f, &f->node, &values);
        writer_update(&f->node, &values);
}

static double count(const struct fixture *f, const char *name) {
        return metrics_value(metrics_counter(f->api.rig.metrics, name, "", NULL));
}

static bool is_settled(void *userdata) {
        struct fixture *f = userdata;

        return api_is_served(&f->api) && writer_is_idle(f->writer);
}

/* A mean that moved, and moved back before the patch was sent: what is left of it is enough for a
 * turn, but this is none. */
TEST(no_longer_early) {
        struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, "0.20000");
        begin(&f, true);
        read_node(&f, 0.2);
        api_run(&f.api, is_settled, &f);
        later_ms += 2 * PLAN_EARLY_GAP_MS; /* its next turn is half a period away at least */
        api_run(&f.api, is_settled, &f);
        read_node(&f, 0.4);
        assert_false(writer_is_idle(f.writer));
        f.ratio = 0.25;
        api_run(&f.api, is_settled, &f);
        assert_true(count(&f, "plimsoll_early_patches_total") == 0);
        assert_true(count(&f, "plimsoll_syncs_unchanged_total") == 0);
        end(&f);
}

/* --once, and no value of the node can be used: that is no patch, and the end. */
TEST(nothing_to_write_once) {
        struct fixture f = {.ratio = -1};

        begin(&f, false);
        writer_push_all(f.writer);
        assert_false(writer_is_idle(f.writer));
        api_run(&f.api, is_settled, &f);
        assert_int_equal(f.idle_events, 1);
        assert_true(count(&f, "plimsoll_syncs_unchanged_total") == 0);
        end(&f);
}

/* The Lease is given back once, though the publisher is idle twice. */
TEST(stops_once) {
        struct fixture f = {0};

        begin(&f, true);
        read_node(&f, 0.2);
        assert_false(writer_is_idle(f.writer));
        writer_stop(f.writer, on_stopped, &f);
        assert_int_equal(f.stopped, 1);
        api_run_quiet(&f.api);
        assert_int_equal(f.stopped, 1);
        assert_int_equal(f.idle_events, 0);
        end(&f);
}

/* A time in the past: whatever carries this fence is not sent. */
TEST(dry_run) {
        struct fixture f = {.is_dry_run = true};

        begin(&f, true);
        struct kube_fence fence = writer_fence(f.writer);
        assert_true(fence.until_mono_ms(fence.userdata) < loop_now_mono_ms(f.api.rig.loop));
        assert_false(writer_is_active(f.writer));
        end(&f);
}
