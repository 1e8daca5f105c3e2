/* Taints of nodes that fall silent, refuse or go, and of clusters that are busy all over. Linked
 * with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/compiled_policy.h"

#include "controller/writing/taint_writer.h"

enum {
        INTERVAL_MS = 1000,
        AWAITED_MS = 4 * INTERVAL_MS,
        RETRY_MS = 5000, /* and as much again by chance */
        NODES = 40,      /* of a cluster that is busy all over */
};

#define PATCH_OF(name) "PATCH /api/v1/nodes/" name "?fieldManager=plimsoll-controller "
#define ADDED "\"op\":\"add\",\"path\":\"/spec/taints/-\""
#define REMOVED "\"op\":\"remove\",\"path\":\"/spec/taints/0\""

static const char policy_text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                  "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                  "  taints: {levels: [0.5]}\n";

/* A hot node and an idle one, without which no node would be the worse. */
struct fixture {
        const char *spec; /* NULL: policy_text */
        struct api_fixture api;
        struct compiled_policy *compiled;
        struct publisher *publisher;
        struct taint_writer writer;
        struct node_track hot_track, idle_track;
        struct taint_node hot, idle;
        size_t patched;
};

static void add(struct fixture *f, struct taint_node *node, const char *name,
                struct node_track *track, const char *taints) {
        json_auto_t *json = json_loads(taints, JSON_DECODE_ANY, NULL);

        taint_writer_add(&f->writer, node, name, track);
        taint_writer_seen(node, json);
}

static void begin(struct fixture *f, const char *taints) {
        f->compiled = compiled_policy_of(f->spec ? f->spec : policy_text, INTERVAL_MS);
        api_start(&f->api);
        f->publisher = publisher_new(
                &(struct publisher_options){.daemon = &f->api.daemon, .patches_per_s = 1000});
        taint_writer_init(&f->writer, f->publisher, f->api.rig.metrics);
        node_track_init(&f->hot_track, f->compiled, clock_mono_ms());
        node_track_init(&f->idle_track, f->compiled, clock_mono_ms());
        add(f, &f->hot, "hot", &f->hot_track, taints);
        add(f, &f->idle, "idle", &f->idle_track, "null");
}

static void end(struct fixture *f) {
        publisher_remove(&f->hot.job);
        publisher_remove(&f->idle.job);
        publisher_free(f->publisher);
        node_track_done(&f->hot_track);
        node_track_done(&f->idle_track);
        compiled_policy_free(f->compiled);
        api_stop(&f->api);
}

static void read_values(struct fixture *f, struct taint_node *node, struct node_track *track,
                        const struct plan_values *values) {
        node_track_reading(track, 0, &(struct source_reading){0},
                           loop_now_mono_ms(f->api.rig.loop));
        taint_writer_update(node, values);
}

static void read_node(struct fixture *f, struct taint_node *node, struct node_track *track,
                      double ratio) {
        read_values(f, node, track, &(struct plan_values){.usable = ratio >= 0, .ratio = {ratio}});
}

static void read_all(struct fixture *f, double hot_ratio) {
        for (size_t i = 0; i < LOAD_LEVEL_RISE; i++) {
                api_wait_ms(&f->api, INTERVAL_MS);
                read_node(f, &f->hot, &f->hot_track, hot_ratio);
                read_node(f, &f->idle, &f->idle_track, 0.1);
        }
}

static bool is_settled(void *userdata) {
        const struct fixture *f = userdata;

        return atomic_load(&f->api.rig.server.served) == f->patched &&
               publisher_is_idle(f->publisher);
}

/* Nothing more than the script has is asked for, for as long as a patch would take. */
static void expect_quiet(struct fixture *f) {
        taint_writer_tick(&f->writer, true);
        api_run_quiet(&f->api);
        assert_int_equal(atomic_load(&f->api.rig.server.surprises), 0);
        assert_int_equal(atomic_load(&f->api.rig.server.served), f->patched);
}

static void expect_patch(struct fixture *f) {
        taint_writer_tick(&f->writer, true);
        f->patched++;
        api_run(&f->api, is_settled, f);
}

/* What is not known any more has no taint, for whichever reason. */
TEST(unknown_load) {
        static const char ours[] =
                "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]";

        for (size_t i = 0; i < 2; i++) {
                bool falls_silent = i == 0;
                _cleanup_(end) struct fixture f = {0};
                api_answer(&f.api, 200, "{}", PATCH_OF("hot"), REMOVED);
                begin(&f, ours);
                api_wait_ms(&f.api, AWAITED_MS);
                read_all(&f, 0.9);
                expect_quiet(&f); /* it carries what it should */
                if (falls_silent)
                        api_wait_ms(&f.api, 10 * LOAD_LEVEL_REST_MS);
                else
                        read_all(&f, -1);
                if (!falls_silent) { /* perhaps another source begins */
                        expect_quiet(&f);
                        api_wait_ms(&f.api, AWAITED_MS);
                }
                expect_patch(&f);
        }
}

/* It looks at no node until one carries taints. */
TEST(policy_without_taints) {
        _cleanup_(end) struct fixture f = {
                .spec = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"};
        json_auto_t *ours = json_loads(
                "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]", 0, NULL);

        api_answer(&f.api, 200, "{}", PATCH_OF("hot"), REMOVED);
        begin(&f, "null");
        api_wait_ms(&f.api, AWAITED_MS);
        expect_quiet(&f);
        assert_false(publisher_may_look(f.writer.kind));
        taint_writer_seen(&f.hot, ours);
        expect_patch(&f);
}

/* A standby, which asks some sources less often, may not know a node when it begins to lead. */
TEST(not_read_when_it_begins_to_lead) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH_OF("hot"), REMOVED);
        begin(&f, "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]");
        read_all(&f, 0.9);
        api_wait_ms(&f.api, 10 * LOAD_LEVEL_REST_MS);
        taint_writer_tick(&f.writer, false);
        publisher_grant(&f.hot.job, node_track_settle_ms(f.hot.track));
        publisher_grant(&f.idle.job, node_track_settle_ms(f.idle.track));
        expect_quiet(&f);
        api_wait_ms(&f.api, AWAITED_MS);
        expect_patch(&f);
}

/* A change is followed by a rest, even where the node has gone in the meantime. */
TEST(rests) {
        static const int statuses[] = {200, 404};

        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                _cleanup_(end) struct fixture f = {0};
                api_answer(&f.api, statuses[i], "{}", PATCH_OF("hot"), ADDED);
                api_answer(&f.api, 200, "{}", PATCH_OF("hot"), ADDED);
                begin(&f, "null");
                read_all(&f, 0.9);
                api_wait_ms(&f.api, AWAITED_MS);
                read_all(&f, 0.9);
                expect_patch(&f);
                assert_int_equal(api_logged(&f.api, "what=taints"), 0);
                api_wait_ms(&f.api, LOAD_LEVEL_REST_MS - 5000);
                read_all(&f, 0.9);
                expect_quiet(&f);
                api_wait_ms(&f.api, 5000);
                read_all(&f, 0.9);
                expect_patch(&f);
        }
}

/* Of many nodes not all are looked at every time. */
TEST(many_nodes) {
        enum { MANY = 25000, LOOK_EVERY_MS = MANY / 10 };
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH_OF("hot"), ADDED);
        begin(&f, "null");
        struct taint_node *nodes = xcalloc(MANY, sizeof(*nodes));
        for (size_t i = 0; i < MANY; i++)
                add(&f, &nodes[i], "other", &f.idle_track, "null");
        api_wait_ms(&f.api, AWAITED_MS);
        taint_writer_tick(&f.writer, true);
        read_all(&f, 0.9);
        taint_writer_tick(&f.writer, true);
        assert_true(publisher_is_idle(f.publisher));
        api_wait_ms(&f.api, LOOK_EVERY_MS);
        read_all(&f, 0.9);
        expect_patch(&f);
        for (size_t i = 0; i < MANY; i++)
                publisher_remove(&nodes[i].job);
        free(nodes);
}

/* A cluster of its own next to the two nodes, which are taken out: each node is read once in an
 * interval, at an instant of its own. */
struct cluster {
        struct fixture f;
        struct node_track track;
        struct taint_node nodes[NODES];
        size_t count;
        int64_t step_ms;
};

static void cluster_begin(struct cluster *c) {
        begin(&c->f, "null");
        publisher_remove(&c->f.hot.job);
        publisher_remove(&c->f.idle.job);
        node_track_init(&c->track, c->f.compiled, clock_mono_ms());
        c->step_ms = INTERVAL_MS / NODES;
}

static void cluster_end(struct cluster *c) {
        for (size_t i = 0; i < c->count; i++)
                publisher_remove(&c->nodes[i].job);
        node_track_done(&c->track);
        add(&c->f, &c->f.hot, "hot", &c->f.hot_track, "null");
        add(&c->f, &c->f.idle, "idle", &c->f.idle_track, "null");
        end(&c->f);
}

static void cluster_grow(struct cluster *c, size_t count, const char *taints) {
        static char names[NODES][8];

        while (c->count < count) {
                size_t i = c->count++;
                (void)snprintf(names[i], sizeof(names[i]), "node-%zu", i);
                add(&c->f, &c->nodes[i], names[i], &c->track, taints);
        }
}

/* One interval. Node @silent is not read; the others have @ratio_of(). */
static void cluster_turn(struct cluster *c, size_t silent, double (*ratio_of)(size_t i, int64_t),
                         int64_t turn) {
        for (size_t i = 0; i < c->count; i++) {
                api_wait_ms(&c->f.api, c->step_ms);
                if (i != silent)
                        read_node(&c->f, &c->nodes[i], &c->track, ratio_of(i, turn));
                taint_writer_tick(&c->f.writer, true);
        }
        expect_quiet(&c->f);
}

static double busy(size_t i, int64_t turn) {
        return 0.9;
}

static double busier(size_t i, int64_t turn) {
        return turn < 5 ? 0.2 : 0.9;
}

/* Where all nodes are equally busy, none is ever the worse. */
TEST(busy_all_over) {
        enum { TURNS = 20, NO_NODE = NODES };

        struct cluster *c = xcalloc(1, sizeof(*c));
        cluster_begin(c);
        cluster_grow(c, 4, "null"); /* the list comes in two parts */
        for (int64_t turn = 0; turn < TURNS; turn++) {
                cluster_turn(c, NO_NODE, busy, turn);
                if (turn == 3)
                        cluster_grow(c, NODES, "null");
        }
        /* One falls silent for longer than a reading is used, and comes back. */
        api_wait_ms(&c->f.api, 0);
        taint_writer_update(&c->nodes[7], &(struct plan_values){0});
        for (int64_t turn = 0; turn < TURNS; turn++)
                cluster_turn(c, turn < TURNS / 2 ? 7 : NO_NODE, busy, turn);
        /* All get busy in the same interval; again, while one is not read. */
        for (int i = 0; i < 2; i++) {
                for (size_t n = 0; n < NODES; n++)
                        taint_writer_replan(&c->nodes[n]);
                for (int64_t turn = 0; turn < TURNS; turn++)
                        cluster_turn(c, i == 1 && turn > 2 && turn < TURNS / 2 ? 7 : NO_NODE,
                                     busier, turn);
        }
        cluster_end(c);
        free(c);
}

/* Readings of two sources are no more samples than those of one. */
TEST(two_sources) {
        enum { PER_INTERVAL = 8 };
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH_OF("hot"), ADDED);
        begin(&f, "null");
        api_wait_ms(&f.api, AWAITED_MS);
        read_all(&f, 0.1);
        api_wait_ms(&f.api, INTERVAL_MS);
        /* Early in the interval, since a busy machine adds to each wait. */
        for (int i = 0; i < PER_INTERVAL / 4; i++) {
                read_node(&f, &f.hot, &f.hot_track, 0.9);
                expect_quiet(&f);
                api_wait_ms(&f.api, INTERVAL_MS / PER_INTERVAL);
        }
        api_wait_ms(&f.api, INTERVAL_MS);
        read_all(&f, 0.9);
        expect_patch(&f);
}

/* While a window is too empty, its node keeps what it carries, and does not count for the others.
 */
TEST(partial_windows) {
        static const char *const carried[] = {
                "null", "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]"};
        const struct plan_values partial = {.usable = 1, .provisional = 1, .ratio = {0.9}};

        for (size_t i = 0; i < ARRAY_LEN(carried); i++) {
                _cleanup_(end) struct fixture f = {0};
                begin(&f, carried[i]);
                for (int64_t ms = 0; ms < 3 * AWAITED_MS; ms += INTERVAL_MS) {
                        api_wait_ms(&f.api, INTERVAL_MS);
                        read_values(&f, &f.hot, &f.hot_track, &partial);
                        read_node(&f, &f.idle, &f.idle_track, 0.9);
                        expect_quiet(&f);
                }
        }
}

/* What a predecessor left stays until enough nodes are known: the first one that is known is no
 * measure for itself. */
TEST(first_known) {
        _cleanup_(end) struct fixture f = {0};

        begin(&f, "[{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]");
        for (int64_t ms = 0; ms < 3 * AWAITED_MS; ms += INTERVAL_MS) {
                api_wait_ms(&f.api, INTERVAL_MS);
                read_node(&f, &f.hot, &f.hot_track, 0.9);
                if (ms >= AWAITED_MS - INTERVAL_MS)
                        read_node(&f, &f.idle, &f.idle_track, 0.1);
                expect_quiet(&f);
        }
}
