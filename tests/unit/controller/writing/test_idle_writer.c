/* Offers of nodes that are read, fall silent, refuse or are reset. Linked with
 * --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/compiled_policy.h"
#include "tests/unit/fixture/rows.h"

#include "codec/json.h"
#include "controller/node/node_set.h"
#include "controller/pods/pod_set.h"
#include "controller/writing/idle_writer.h"
#include "kube/kube_proto.h"

enum {
        INTERVAL_MS = 1000,
        AWAITED_MS = 4 * INTERVAL_MS,
        PERIOD_MS = 180000,
        SILENT_MS = 600000,
        CORES = 16,
};

#define STATUS                                                                                     \
        "{\"capacity\":{\"" KUBE_IDLE_RESOURCE "\":\"%s\"},"                                       \
        "\"allocatable\":{\"" KUBE_IDLE_RESOURCE "\":\"%s\"}}"
#define PATCH "PATCH /api/v1/nodes/a/status?fieldManager=plimsoll-controller "

static const char metrics[] = "  syncPolicy: [{name: cpu_usage_max_avg_1h, period: 3m}]\n";

struct fixture {
        struct api_fixture api;
        struct compiled_policy *compiled;
        struct publisher *publisher;
        struct patch_kind *offers;
        struct node_track track;
        struct node_set set; /* of which only the pods are looked at */
        struct node node;
        struct idle_node idle;
        size_t patched;
        char expected[8][256]; /* patches of a story */
};

/* @offer: an amount, or the whole status of the node */
static void see(struct fixture *f, const char *offer) {
        _cleanup_(freep) char *status = *offer == '{' ? xstrdup(offer)
                                                      : xasprintf(STATUS, offer, offer);
        json_auto_t *json = json_loads(status, JSON_DECODE_ANY, NULL);

        idle_writer_seen(&f->idle, json);
}

static void begin(struct fixture *f, const char *spec, const char *offer) {
        _cleanup_(freep) char *text = xasprintf("%s%s", metrics, spec);
        static char name[] = "a";

        f->compiled = compiled_policy_of(text, INTERVAL_MS);
        f->set.options.pods = pod_set_new();
        pod_set_events.list_ended(f->set.options.pods);
        f->node.set = &f->set;
        f->node.name = name;
        f->node.kubelet.capacity.cpu_cores = CORES;
        api_start(&f->api);
        f->publisher = publisher_new(
                &(struct publisher_options){.daemon = &f->api.daemon, .patches_per_s = 1000});
        f->offers = idle_writer_new(f->publisher);
        node_track_init(&f->track, f->compiled, clock_mono_ms());
        idle_writer_add(f->offers, &f->idle, &f->node, &f->track);
        f->idle.job.uid = "0-1";
        see(f, offer);
}

static void end(struct fixture *f) {
        assert_int_equal(atomic_load(&f->api.rig.server.surprises), 0);
        publisher_remove(&f->idle.job);
        publisher_free(f->publisher);
        node_track_done(&f->track);
        pod_set_free(f->set.options.pods);
        compiled_policy_free(f->compiled);
        api_stop(&f->api);
}

/* One pod, which replaces the one before. */
static void take(struct fixture *f, double cores) {
        const struct pod_facts facts = {
                .id = 1, .node = {"a", 1}, .name = {"p", 1}, .idle_cores = cores};

        pod_set_events.pod(f->set.options.pods, &facts, false);
}

static void read_node(struct fixture *f, double peak_ratio) {
        node_track_reading(&f->track, 0, &(struct source_reading){0},
                           loop_now_mono_ms(f->api.rig.loop));
        idle_writer_update(&f->idle, &(struct plan_values){.usable = 1, .ratio = {peak_ratio}});
}

static void read_without_value(struct fixture *f) {
        node_track_reading(&f->track, 0, &(struct source_reading){0},
                           loop_now_mono_ms(f->api.rig.loop));
        idle_writer_update(&f->idle, &(struct plan_values){0});
}

static void expect_quiet(struct fixture *f) {
        idle_writer_tick(f->offers, true);
        api_run_quiet(&f->api);
        assert_int_equal(atomic_load(&f->api.rig.server.served), f->patched);
}

static bool is_settled(void *userdata) {
        const struct fixture *f = userdata;

        return atomic_load(&f->api.rig.server.served) == f->patched &&
               publisher_is_idle(f->publisher);
}

static void expect_patch(struct fixture *f) {
        idle_writer_tick(f->offers, true);
        f->patched++;
        api_run(&f->api, is_settled, f);
}

#define OFFER(amount)                                                                              \
        "{\"metadata\":{\"uid\":\"0-1\"},\"status\":{\"capacity\":{"                               \
        "\"" KUBE_IDLE_RESOURCE "\":" amount "},\"allocatable\":{"                                 \
        "\"" KUBE_IDLE_RESOURCE "\":" amount "}}}"

/* The patches of a story: "200=2080", the status of the answer and what is offered. */
static void expect_patches(struct fixture *f, const char *story) {
        _cleanup_(freep) char *words = xstrdup(story);
        size_t count = 0;

        for (char *rest = words, *word; (word = strsep(&rest, " "));) {
                const char *status = strsep(&word, "=");
                if (*status < '0' || *status > '9')
                        continue;
                char *offer = f->expected[count++];
                if (strcmp(word, "null") == 0)
                        (void)snprintf(offer, sizeof(f->expected[0]), "%s", OFFER("null"));
                else
                        (void)snprintf(offer, sizeof(f->expected[0]), OFFER("\"%s\""), word, word);
                api_answer(&f->api, atoi(status), "{}", PATCH, offer);
        }
}

/* A word of a story. */
static void live(struct fixture *f, char *word) {
        const char *what = strsep(&word, "=");
        double number = word ? strtod(word, NULL) : 0;

        if (strcmp(what, "wait") == 0)
                api_wait_ms(&f->api, (int64_t)number * MS_PER_S);
        else if (strcmp(what, "read") == 0 && word)
                read_node(f, number);
        else if (strcmp(what, "read") == 0)
                read_without_value(f);
        else if (strcmp(what, "take") == 0)
                take(f, number);
        else if (strcmp(what, "see") == 0)
                see(f, word);
        else if (strcmp(what, "lead") == 0)
                publisher_grant(&f->idle.job, node_track_settle_ms(f->idle.track));
        else if (strcmp(what, "quiet") == 0)
                expect_quiet(f);
        else if (strcmp(what, "trouble") == 0 || strcmp(what, "well") == 0)
                assert_int_equal(*publisher_trouble(f->publisher) == '\0', *what == 'w');
        else
                expect_patch(f);
}

TEST(stories) {
        for (struct rows rows = rows_open("idle-stories.tsv"); rows_next(&rows);) {
                _cleanup_(end) struct fixture f = {0};

                print_message("%s\n", rows.place);
                expect_patches(&f, rows.cells[1]);
                begin(&f, "  idle: {}\n", rows.cells[0]);
                for (char *word; (word = strsep(&rows.cells[1], " "));)
                        live(&f, word);
        }
}

/* Which pods there are is not known yet: they may have taken all of it. */
TEST(pods_not_listed) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "  idle: {}\n", "6400");
        pod_set_free(f.set.options.pods);
        f.set.options.pods = pod_set_new();
        read_node(&f, 0.6);
        expect_quiet(&f);
        api_wait_ms(&f.api, AWAITED_MS);
        read_node(&f, 0.25);
        expect_quiet(&f);
        api_wait_ms(&f.api, PERIOD_MS);
        read_node(&f, 0.1);
        expect_quiet(&f); /* nor does it rise */
        read_node(&f, 0.6);
        expect_patch(&f);
        read_node(&f, 0.1);
        expect_quiet(&f);
}

/* Without spec.idle what there is goes, also after refusals; and who offers nothing is not touched.
 */
TEST(switched_off) {
        struct fixture f = {0}, none = {0};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, OFFER("null"));
        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "", "2");
        read_node(&f, 0.25);
        expect_quiet(&f);
        api_wait_ms(&f.api, AWAITED_MS);
        expect_patch(&f);
        assert_int_equal(api_logged(&f.api, "what=\"idle CPU\" node=a reason=forbidden"), 1);
        expect_quiet(&f);
        api_wait_ms(&f.api, SILENT_MS);
        expect_patch(&f);
        expect_quiet(&f);
        end(&f);

        api_answer(&none.api, 200, "{}", PATCH, "\r\n\r\n{\"status\":{\"capacity\":{");
        begin(&none, "", "{\"capacity\":{\"cpu\":\"16\"}}");
        none.idle.job.uid = NULL; /* not known */
        read_node(&none, 0.25);
        api_wait_ms(&none.api, AWAITED_MS);
        expect_quiet(&none);
        /* It looks at no node until one carries an offer. */
        assert_false(publisher_may_look(none.offers));
        see(&none, "2");
        expect_patch(&none);
        end(&none);
}

/* What it must carry is there before the patch is sent. */
TEST(no_longer_wanted) {
        _cleanup_(end) struct fixture f = {0};

        begin(&f, "  idle: {}\n", "{}");
        read_node(&f, 0.9);
        idle_writer_tick(f.offers, true);
        assert_false(publisher_is_idle(f.publisher));
        see(&f, "0");
        api_run_quiet(&f.api);
        assert_true(publisher_is_idle(f.publisher));
        assert_int_equal(atomic_load(&f.api.rig.server.served), 0);
}

/* Of many nodes it does not look at every tick. */
TEST(many_nodes) {
        enum { NODES = 100000, LOOK_MS = 10000 };
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("\"0\""));
        begin(&f, "  idle: {}\n", "{}");
        f.offers->job_count += NODES;
        expect_quiet(&f);
        read_node(&f, 0.9);
        expect_quiet(&f);
        api_wait_ms(&f.api, LOOK_MS);
        expect_patch(&f);
        f.offers->job_count -= NODES;
}
