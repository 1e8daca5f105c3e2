/* Taints of nodes that fall silent, refuse or go. Linked with --wrap=clock_gettime. */
#include "api_fixture.h"

#include "controller/writing/taint_writer.h"

enum { INTERVAL_MS = 1000, SETTLED_MS = 3 * INTERVAL_MS, QUIET_LOOKS = 20 };

#define PATCH_OF(name) "PATCH /api/v1/nodes/" name "?fieldManager=plimsoll-controller "
#define ADDED "\"op\":\"add\",\"path\":\"/spec/taints/-\""
#define REMOVED "\"op\":\"remove\",\"path\":\"/spec/taints/0\""

static const char policy_text[] = "apiVersion: scheduler.policy.crane.io/v1alpha1\n"
                                  "kind: DynamicSchedulerPolicy\n"
                                  "spec:\n"
                                  "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                  "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                  "  taints: {levels: [0.5]}\n";

/* A hot node and an idle one, without which no node would be the worse. */
struct fixture {
        struct api_fixture api;
        struct compiled_policy *compiled;
        struct publisher *publisher;
        struct taint_writer *writer;
        struct node_track hot_track, idle_track;
        struct taint_node hot, idle;
        size_t quiet_looks, patched;
};

static bool never_on_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        (void)userdata;
        (void)job;
        (void)patch;
        return false;
}

static void add(struct fixture *f, struct taint_node *node, const char *name,
                struct node_track *track, const char *taints) {
        json_auto_t *json = json_loads(taints, JSON_DECODE_ANY, NULL);

        taint_writer_add(f->writer, node, name, track);
        taint_writer_seen(node, json);
}

static void begin(struct fixture *f, const char *taints) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_parse(policy_text, sizeof(policy_text) - 1, true, &policy, &err) < 0)
                fail_msg("%s", err.msg);
        f->compiled = compiled_policy_new(
                policy, &(struct compiled_policy_options){.style = {.prefix = ""},
                                                          .sources = {{.interval_ms = INTERVAL_MS}},
                                                          .source_count = 1});
        api_start(&f->api);
        f->publisher = publisher_new(f->api.rig.loop, f->api.rig.api, f->api.rig.metrics, 1000, 1,
                                     (struct kube_fence){0},
                                     &(struct publisher_events){.on_turn = never_on_turn});
        f->writer = taint_writer_new(f->api.rig.loop, f->publisher, f->api.rig.metrics, INTERVAL_MS,
                                     f->compiled);
        node_track_init(&f->hot_track, f->compiled);
        node_track_init(&f->idle_track, f->compiled);
        add(f, &f->hot, "hot", &f->hot_track, taints);
        add(f, &f->idle, "idle", &f->idle_track, "null");
}

static void end(struct fixture *f) {
        taint_writer_remove(&f->hot);
        taint_writer_remove(&f->idle);
        taint_writer_free(f->writer);
        publisher_free(f->publisher);
        node_track_done(&f->hot_track, f->compiled);
        node_track_done(&f->idle_track, f->compiled);
        compiled_policy_free(f->compiled);
        api_stop(&f->api);
}

static void read_node(struct fixture *f, struct taint_node *node, struct node_track *track,
                      double ratio) {
        const struct plan_values values = {.usable = ratio >= 0, .ratio = {ratio}};

        node_track_reading(track, f->compiled, 0, &(struct source_reading){0},
                           loop_now_mono_ms(f->api.rig.loop));
        taint_writer_update(node, &values);
}

static void read_all(struct fixture *f, double hot_ratio) {
        for (size_t i = 0; i < LOAD_LEVEL_RISE; i++) {
                read_node(f, &f->hot, &f->hot_track, hot_ratio);
                read_node(f, &f->idle, &f->idle_track, 0.1);
        }
}

static bool is_quiet(void *userdata) {
        return ++((struct fixture *)userdata)->quiet_looks >= QUIET_LOOKS;
}

static bool is_settled(void *userdata) {
        const struct fixture *f = userdata;

        return atomic_load(&f->api.rig.server.served) == f->patched &&
               publisher_is_idle(f->publisher);
}

/* Nothing more than the script has is asked for, for as long as a patch would take. */
static void expect_quiet(struct fixture *f) {
        taint_writer_tick(f->writer, true);
        f->quiet_looks = 0;
        api_run(&f->api, is_quiet, f);
        assert_int_equal(atomic_load(&f->api.rig.server.surprises), 0);
}

/* The loop's time is that of its turn. */
static void wait_ms(struct fixture *f, int64_t ms) {
        later_ms += ms;
        f->quiet_looks = QUIET_LOOKS;
        api_run(&f->api, is_quiet, f);
}

static void expect_patch(struct fixture *f) {
        taint_writer_tick(f->writer, true);
        f->patched++;
        api_run(&f->api, is_settled, f);
}

/* What is not known any more has no taint, for whichever reason. */
static void test_unknown_load(void **state) {
        static const char ours[] =
                "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]";

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                bool falls_silent = i == 0;
                struct fixture f = {0};
                api_answer(&f.api, 200, "{}", PATCH_OF("hot"), REMOVED);
                begin(&f, ours);
                wait_ms(&f, SETTLED_MS);
                read_all(&f, 0.9);
                expect_quiet(&f); /* it carries what it should */
                if (falls_silent)
                        wait_ms(&f, 10 * LOAD_LEVEL_REST_MS);
                else
                        read_all(&f, -1);
                expect_patch(&f);
                end(&f);
        }
}

/* A change is followed by a rest, even where the node has gone meanwhile. */
static void test_rests(void **state) {
        static const int statuses[] = {200, 404};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                struct fixture f = {0};
                api_answer(&f.api, statuses[i], "{}", PATCH_OF("hot"), ADDED);
                api_answer(&f.api, 200, "{}", PATCH_OF("hot"), ADDED);
                begin(&f, "null");
                read_all(&f, 0.9);
                wait_ms(&f, SETTLED_MS);
                read_all(&f, 0.9);
                expect_patch(&f);
                assert_int_equal(api_logged(&f.api, "what=taints"), 0);
                wait_ms(&f, LOAD_LEVEL_REST_MS - 5000);
                read_all(&f, 0.9);
                expect_quiet(&f);
                wait_ms(&f, 5000);
                read_all(&f, 0.9);
                expect_patch(&f);
                end(&f);
        }
}

/* Told when it begins, and anew of a node that has come anew. */
static void test_failing(void **state) {
        struct fixture f = {0};

        (void)state;
        for (size_t i = 0; i < 3; i++)
                api_answer(&f.api, 422, "{\"message\":\"no\"}", PATCH_OF("hot"), ADDED);
        begin(&f, "null");
        for (size_t i = 0; i < 3; i++) {
                if (i == 2) {
                        taint_writer_remove(&f.hot);
                        add(&f, &f.hot, "hot", &f.hot_track, "null");
                }
                wait_ms(&f, 6000);
                read_all(&f, 0.9);
                expect_patch(&f);
                assert_int_equal(api_logged(&f.api, "what=taints node=hot reason=invalid"),
                                 i == 1 ? 0 : 1);
        }
        end(&f);
}

/* Who stops leading sends nothing, not even what waits. */
static void test_stopped(void **state) {
        struct fixture f = {0};

        (void)state;
        begin(&f, "null");
        wait_ms(&f, SETTLED_MS);
        read_all(&f, 0.9);
        taint_writer_tick(f.writer, true);
        assert_false(publisher_is_idle(f.publisher));
        taint_writer_stop(f.writer);
        assert_true(publisher_is_idle(f.publisher));
        wait_ms(&f, LOAD_LEVEL_REST_MS);
        read_all(&f, 0.9);
        taint_writer_tick(f.writer, false);
        assert_true(publisher_is_idle(f.publisher));
        end(&f);
}

/* What a node carries is not known before the watch has shown it. */
static void test_not_seen_yet(void **state) {
        struct fixture f = {0};
        struct taint_node unseen;

        (void)state;
        begin(&f, "null");
        taint_writer_add(f.writer, &unseen, "unseen", &f.hot_track);
        wait_ms(&f, SETTLED_MS);
        read_all(&f, 0.1);
        for (size_t i = 0; i < LOAD_LEVEL_RISE; i++)
                read_node(&f, &unseen, &f.hot_track, 0.9);
        expect_quiet(&f);
        taint_writer_remove(&unseen);
        end(&f);
}

/* Of many nodes not all are looked at every time. */
static void test_many_nodes(void **state) {
        enum { NODES = 1000, LOOK_EVERY_MS = NODES / 10 };
        struct fixture f = {0};

        (void)state;
        api_answer(&f.api, 200, "{}", PATCH_OF("hot"), ADDED);
        begin(&f, "null");
        struct taint_node *nodes = xcalloc(NODES, sizeof(*nodes));
        for (size_t i = 0; i < NODES; i++)
                add(&f, &nodes[i], "other", &f.idle_track, "null");
        wait_ms(&f, SETTLED_MS);
        taint_writer_tick(f.writer, true);
        read_all(&f, 0.9);
        taint_writer_tick(f.writer, true);
        assert_true(publisher_is_idle(f.publisher));
        wait_ms(&f, LOOK_EVERY_MS);
        expect_patch(&f);
        for (size_t i = 0; i < NODES; i++)
                taint_writer_remove(&nodes[i]);
        free(nodes);
        end(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_unknown_load), cmocka_unit_test(test_rests),
                cmocka_unit_test(test_failing),      cmocka_unit_test(test_stopped),
                cmocka_unit_test(test_not_seen_yet), cmocka_unit_test(test_many_nodes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
