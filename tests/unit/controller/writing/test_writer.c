/* Patches that are no longer wanted when their turn comes. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/policy.h"

#include <semaphore.h>

#include "codec/json.h"
#include "controller/node/node_set.h"
#include "controller/pods/pod_set.h"
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
        const char *more; /* of the policy */
        bool is_dry_run;
        const char *usage; /* of its pods; NULL: not known */
        double ratio;      /* of the node's one metric; below 0: none */
        size_t stopped;
        atomic_bool is_asked;
        sem_t go_on;
};

static void on_values(void *userdata, const struct writer_node *node, struct plan_values *ret) {
        double ratio = ((struct fixture *)userdata)->ratio;

        *ret = (struct plan_values){.usable = ratio >= 0, .ratio = {ratio}};
}

static bool on_pod_usage(void *userdata, const struct writer_node *node,
                         char text[static POD_USAGE_TEXT_MAX]) {
        const char *usage = ((struct fixture *)userdata)->usage;

        (void)snprintf(text, POD_USAGE_TEXT_MAX, "%s", usage ? usage : "");
        return usage;
}

static void on_stopped(void *userdata) {
        ((struct fixture *)userdata)->stopped++;
}

static struct compiled_policy *compile(const char *more) {
        _cleanup_(freep) char *spec = xasprintf("%s%s", policy_text, more ? more : "");

        return compiled_policy_new(policy_of(spec), &(struct compiled_policy_options){
                                                            .style = {.prefix = ""},
                                                            .sources = {{.interval_ms = 1000}},
                                                            .source_count = 1});
}

static void begin(struct fixture *f) {
        static char name[] = "a";

        f->compiled = compile(f->more);
        api_start(&f->api);
        f->writer = writer_new(&(struct writer_options){.daemon = &f->api.daemon,
                                                        .patches_per_s = 1000,
                                                        .is_dry_run = f->is_dry_run,
                                                        .values = on_values,
                                                        .pod_usage = on_pod_usage,
                                                        .userdata = f},
                               f->compiled);
        node_track_init(&f->track, f->compiled, clock_mono_ms());
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

static bool is_idle(void *userdata) {
        return writer_is_idle(((struct fixture *)userdata)->writer);
}

/* A second after the node's next turn. */
static void wait_for_turn(struct fixture *f) {
        const struct plan *plan = &f->compiled->plan;
        int64_t now_unix_ms = loop_now_unix_ms(f->api.rig.loop);
        int64_t turn_unix_ms = plan_turn_unix_ms(plan, "a", PLAN_NEVER, now_unix_ms);

        api_wait_ms(&f->api, turn_unix_ms + plan->sync_ms + MS_PER_S - now_unix_ms);
}

/* A mean that moved, and moved back before the patch was sent: the turn passes without one. */
TEST(nothing_left_to_write) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, "0.20000");
        begin(&f);
        wait_for_turn(&f);
        read_node(&f, 0.2);
        api_run(&f.api, is_settled, &f);
        wait_for_turn(&f);
        read_node(&f, 0.4);
        assert_false(writer_is_idle(f.writer));
        f.ratio = 0.2;
        api_run(&f.api, is_settled, &f);
        assert_true(count(&f, "plimsoll_syncs_unchanged_total") == 1);
        read_node(&f, 0.25); /* not before the next turn */
        assert_true(writer_is_idle(f.writer));
}

/* Load that changes does not wait for the node's turn. */
TEST(written_early) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, "0.20000");
        api_answer(&f.api, 200, "{}", PATCH, "0.40000");
        begin(&f);
        wait_for_turn(&f);
        read_node(&f, 0.2);
        api_run(&f.api, is_idle, &f);
        api_wait_ms(&f.api, MS_PER_MIN);
        read_node(&f, 0.25);
        assert_true(writer_is_idle(f.writer));
        read_node(&f, 0.4);
        api_run(&f.api, is_settled, &f);
}

/* What failed is written with the first reading after the back-off, not only at the next turn. */
TEST(failed) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, "0.20000");
        api_answer(&f.api, 422, "{}", PATCH, "0.40000");
        api_answer(&f.api, 200, "{}", PATCH, "0.50000");
        begin(&f);
        wait_for_turn(&f);
        read_node(&f, 0.2);
        api_run(&f.api, is_idle, &f);
        wait_for_turn(&f);
        read_node(&f, 0.4);
        api_run(&f.api, is_idle, &f);
        read_node(&f, 0.5);
        assert_true(writer_is_idle(f.writer));
        api_wait_ms(&f.api, MS_PER_MIN); /* longer than any back-off */
        read_node(&f, 0.5);
        api_run(&f.api, is_settled, &f);
}

static void wait_for_test(void *userdata) {
        struct fixture *f = userdata;

        atomic_store(&f->is_asked, true);
        (void)sem_wait(&f->go_on);
}

static bool is_asked(void *userdata) {
        return atomic_load(&((struct fixture *)userdata)->is_asked);
}

/* What was written under another policy confirms nothing under this one. */
TEST(policy_changes_under_way) {
        struct fixture f = {0};
        struct compiled_policy *next = compile(NULL);

        assert_int_equal(sem_init(&f.go_on, 0, 0), 0);
        f.api.rig.server.userdata = &f;
        scripted_add(&f.api.rig.server,
                     (struct scripted_reply){.expect = {PATCH, "0.20000"},
                                             .response = scripted_http(200, "", "{}"),
                                             .before = wait_for_test});
        api_answer(&f.api, 200, "{}", PATCH, "0.20000");
        begin(&f);
        read_node(&f, 0.2);
        api_run(&f.api, is_asked, &f);
        writer_set_policy(f.writer, next);
        assert_int_equal(sem_post(&f.go_on), 0);
        api_run(&f.api, is_idle, &f);
        read_node(&f, 0.2);
        api_run(&f.api, is_settled, &f);
        end(&f);
        compiled_policy_free(next);
        (void)sem_destroy(&f.go_on);
}

static void read_as(struct fixture *f, struct writer_node *node, struct node_track *track,
                    double ratio) {
        node_track_reading(track, 0, &(struct source_reading){0},
                           loop_now_mono_ms(f->api.rig.loop));
        f->ratio = ratio;
        writer_update(node, &(struct plan_values){.usable = 1, .ratio = {ratio}});
}

/* Taints that are refused are trouble, though annotations are written. */
TEST(taints_are_refused) {
        enum { REPORTED = 4, LONGEST_MS = 60000 };
        static char calm_name[] = "b";
        struct node listed = {.name = calm_name};
        struct fixture f = {.more = "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                    "  taints: {levels: [0.5]}\n"};
        json_auto_t *object = json_object();
        struct node_set set = {.options.pods = pod_set_new()};
        struct node_track calm_track;
        struct writer_node calm;

        f.listed.set = listed.set = &set;
        api_answer_usually(&f.api, 200, "{}", "\"annotations\"");
        api_answer_usually(&f.api, 422, "{\"message\":\"no taints\"}", "/spec/taints/-");
        begin(&f);
        node_track_init(&calm_track, f.compiled, clock_mono_ms());
        writer_add(f.writer, &calm, &listed, &calm_track);
        writer_seen(&f.node, object);
        writer_seen(&calm, object);
        for (size_t i = 0; i < REPORTED; i++) {
                assert_string_equal(writer_trouble(f.writer), "");
                api_wait_ms(&f.api, LONGEST_MS);
                for (size_t j = 0; j < LOAD_LEVEL_RISE; j++) {
                        api_wait_ms(&f.api, 1000);
                        read_as(&f, &f.node, &f.track, 0.9);
                        read_as(&f, &calm, &calm_track, 0.1);
                }
                api_run(&f.api, is_idle, &f);
                writer_tick(f.writer, true);
                assert_false(writer_is_idle(f.writer));
                api_run(&f.api, is_settled, &f);
        }
        assert_non_null(strstr(writer_trouble(f.writer), "no taints"));
        assert_int_equal(api_logged(&f.api, "what=patch"), 0);
        writer_remove(&calm);
        node_track_done(&calm_track);
        end(&f);
        pod_set_free(set.options.pods);
}

#define REFUSED(field, message)                                                                    \
        "{\"kind\":\"Status\",\"message\":\"" message                                              \
        "\",\"reason\":\"Invalid\",\"details\":{\"causes\":["                                      \
        "{\"field\":\"spec.podCIDR\"},{\"reason\":\"FieldValueInvalid\",\"field\":\"" field        \
        "\"}]}}"

/* A node that was deleted and made again under its name is another one: its predecessor has not
 * failed, and what was refused has not been written. The Status says so by its causes, not by its
 * message, which has the node's name, or anything else. */
TEST(made_anew) {
        static const struct {
                int status;
                const char *body;
                size_t failing;
        } rows[] = {
                {422, REFUSED("metadata.uid", "no"), 0},
                {422, REFUSED("metadata.name", "metadata.uid: Invalid value: "), 1},
                {400, REFUSED("metadata.uid", "metadata.uid: Invalid value: "), 1},
                {422, "metadata.uid: Invalid value: ", 1},
        };
        static char uid[] = "0-1";

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end) struct fixture f = {.listed.uid = uid};
                api_answer(&f.api, rows[i].status, rows[i].body, PATCH,
                           "{\"metadata\":{\"uid\":\"0-1\",\"annotations\":{\"cpu_usage_avg_5m\":");
                begin(&f);
                read_node(&f, 0.2);
                api_run(&f.api, is_settled, &f);
                assert_int_equal(api_logged(&f.api, "msg=\"node is failing\" what=patch"),
                                 rows[i].failing);
                assert_true(f.track.record->metrics[0].at_unix_ms == PLAN_NEVER);
        }
}

/* The usage of pods rides along where it differs from the Node's. */
TEST(pod_usage) {
#define USAGE "\"" ANNOTATION_POD_USAGE "\":"
#define END "Z\"}}}"
        static const struct {
                const char *carried, *usage, *expected;
        } rows[] = {
                {"{}", "x", "Z\"," USAGE "\"x\"}"},
                {"{" USAGE "\"x\"}", "y", "Z\"," USAGE "\"y\"}"},
                {"{" USAGE "\"x\"}", "x", END},
                {"{" USAGE "\"x\"}", "", "Z\"," USAGE "null}"},
                {"{" USAGE "\"x\"}", NULL, END},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end) struct fixture f = {.usage = rows[i].usage};
                json_auto_t *carried = json_loads(rows[i].carried, 0, NULL);
                api_answer(&f.api, 200, "{}", PATCH, rows[i].expected);
                begin(&f);
                node_track_annotations(&f.track, carried, loop_now_mono_ms(f.api.rig.loop),
                                       loop_now_unix_ms(f.api.rig.loop));
                read_node(&f, 0.2);
                api_run(&f.api, is_settled, &f);
        }
}

/* The Lease is given back once, though the publisher is idle twice. */
TEST(stops_once) {
        _cleanup_(end) struct fixture f = {0};

        begin(&f);
        read_node(&f, 0.2);
        assert_false(writer_is_idle(f.writer));
        writer_stop(f.writer, on_stopped, &f);
        assert_int_equal(f.stopped, 1);
        api_run_quiet(&f.api);
        assert_int_equal(f.stopped, 1);
}

/* A time in the past: whatever carries this fence is not sent. */
TEST(dry_run) {
        _cleanup_(end) struct fixture f = {.is_dry_run = true};

        begin(&f);
        struct kube_fence fence = writer_fence(f.writer);
        assert_true(fence.until_mono_ms(fence.userdata) < loop_now_mono_ms(f.api.rig.loop));
        assert_false(writer_is_active(f.writer));
}
