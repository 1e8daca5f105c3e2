/* Offers of nodes that are read, fall silent, refuse or are reset. Linked with
 * --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"
#include "tests/unit/fixture/compiled_policy.h"

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

#define STATUS(amount)                                                                             \
        "{\"capacity\":{\"" KUBE_IDLE_RESOURCE "\":" amount "},"                                   \
        "\"allocatable\":{\"" KUBE_IDLE_RESOURCE "\":" amount "}}"
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
};

static void see(struct fixture *f, const char *status) {
        json_auto_t *json = json_loads(status, JSON_DECODE_ANY, NULL);

        idle_writer_seen(&f->idle, json);
}

static void begin(struct fixture *f, const char *spec, const char *status) {
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
        see(f, status);
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

/* At first 0, so that the node has the resource; an eighth of its CPUs more each period, up to the
 * line; and down at once. */
TEST(rises_slowly_falls_at_once) {
        static const char *const offers[] = {
                OFFER("\"0\""),    OFFER("\"2080\""), OFFER("\"4160\""), OFFER("\"6240\""),
                OFFER("\"6400\""), OFFER("\"800\""),  OFFER("\"0\"")};
        _cleanup_(end) struct fixture f = {0};

        for (size_t i = 0; i < ARRAY_LEN(offers); i++)
                api_answer(&f.api, 200, "{}", PATCH, offers[i]);
        begin(&f, "  idle: {}\n", "{}");
        expect_quiet(&f); /* it has not been read */
        read_node(&f, 0.25);
        expect_patch(&f);
        for (size_t i = 0; i < 4; i++) {
                expect_quiet(&f);
                api_wait_ms(&f.api, PERIOD_MS);
                read_node(&f, 0.25);
                expect_patch(&f);
        }
        api_wait_ms(&f.api, PERIOD_MS);
        read_node(&f, 0.25);
        expect_quiet(&f);
        read_node(&f, 0.6);
        expect_patch(&f);
        read_node(&f, 0.9);
        expect_patch(&f);
}

/* Not less than pods have taken is offered, or nothing. */
TEST(less_than_is_taken) {
        static const char *const offers[] = {OFFER("null"), OFFER("\"0\""), OFFER("null"),
                                             OFFER("\"3500\""), OFFER("\"5580\"")};
        _cleanup_(end) struct fixture f = {0};

        for (size_t i = 0; i < ARRAY_LEN(offers); i++)
                api_answer(&f.api, 200, "{}", PATCH, offers[i]);
        begin(&f, "  idle: {}\n", STATUS("\"6400\""));
        take(&f, 3);
        read_node(&f, 0.6);
        expect_patch(&f);
        read_node(&f, 0.55);
        expect_quiet(&f);
        take(&f, 0);
        expect_patch(&f);
        take(&f, 3.5); /* it was bound before the offer fell */
        expect_patch(&f);
        read_node(&f, 0.25);
        expect_patch(&f);
        api_wait_ms(&f.api, PERIOD_MS);
        read_node(&f, 0.25);
        expect_patch(&f);
}

/* Which pods there are is not known yet: they may have taken all of it. */
TEST(pods_not_listed) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "  idle: {}\n", STATUS("\"6400\""));
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

/* Of its predecessor's offer a replica takes nothing away before it knows better. */
TEST(begins_with_what_is_there) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("\"6400\""));
        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "  idle: {}\n", STATUS("\"8k\""));
        expect_quiet(&f);
        api_wait_ms(&f.api, AWAITED_MS - INTERVAL_MS);
        expect_quiet(&f);
        read_node(&f, 0.1);
        expect_quiet(&f); /* nor does it rise at once */
        read_node(&f, 0.25);
        expect_patch(&f);
        api_wait_ms(&f.api, SILENT_MS);
        expect_patch(&f); /* it is not read any more */
        expect_quiet(&f);
}

/* While a node turns to another source, it may be read without a value. */
TEST(value_is_gone) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "  idle: {}\n", STATUS("\"6400\""));
        read_node(&f, 0.25);
        api_wait_ms(&f.api, AWAITED_MS);
        expect_quiet(&f);
        for (int is_back = 1; is_back >= 0; is_back--) {
                read_without_value(&f);
                api_wait_ms(&f.api, AWAITED_MS - INTERVAL_MS);
                read_without_value(&f);
                expect_quiet(&f);
                if (is_back)
                        read_node(&f, 0.25);
                api_wait_ms(&f.api, INTERVAL_MS);
                if (is_back)
                        expect_quiet(&f);
        }
        expect_patch(&f);
}

/* A standby, which asks some sources less often, may not know a node when it begins to lead. */
TEST(not_read_when_it_begins_to_lead) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "  idle: {}\n", STATUS("\"6400\""));
        read_node(&f, 0.25);
        api_wait_ms(&f.api, SILENT_MS);
        publisher_grant(&f.idle.job, node_track_settle_ms(f.idle.track));
        expect_quiet(&f);
        api_wait_ms(&f.api, AWAITED_MS);
        expect_patch(&f);
}

/* The next leader does not raise what the last one has just raised. */
TEST(raised_by_another) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200, "{}", PATCH, OFFER("\"6160\""));
        begin(&f, "  idle: {}\n", STATUS("\"2k\""));
        api_wait_ms(&f.api, PERIOD_MS);
        see(&f, STATUS("\"4080\""));
        read_node(&f, 0.25);
        expect_quiet(&f);
        api_wait_ms(&f.api, PERIOD_MS);
        read_node(&f, 0.25);
        expect_patch(&f);
}

/* Without spec.idle what there is goes, also after refusals; and who offers nothing is not touched.
 */
TEST(switched_off) {
        struct fixture f = {0}, none = {0};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, OFFER("null"));
        api_answer(&f.api, 200, "{}", PATCH, OFFER("null"));
        begin(&f, "", STATUS("\"2\""));
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

        api_answer(&none.api, 200, "{}", PATCH, OFFER("null"));
        begin(&none, "", "{\"capacity\":{\"cpu\":\"16\"}}");
        read_node(&none, 0.25);
        api_wait_ms(&none.api, AWAITED_MS);
        expect_quiet(&none);
        /* It looks at no node until one carries an offer. */
        assert_false(publisher_may_look(none.offers));
        json_auto_t *carries = json_loads(STATUS("\"2\""), 0, NULL);
        idle_writer_seen(&none.idle, carries);
        expect_patch(&none);
        end(&none);
}

/* Refusals are no trouble any more when the node carries what it must without a patch of ours. */
TEST(refused_and_no_longer_wanted) {
        enum { REPORTED = 4 };
        _cleanup_(end) struct fixture f = {0};

        for (size_t i = 0; i < REPORTED; i++)
                api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, OFFER("\"0\""));
        begin(&f, "  idle: {}\n", "{}");
        for (size_t i = 0; i < REPORTED; i++) {
                api_wait_ms(&f.api, PERIOD_MS);
                read_node(&f, 0.9);
                expect_patch(&f);
        }
        expect_quiet(&f); /* it is wanted, and rests */
        assert_string_not_equal(publisher_trouble(f.publisher), "");
        see(&f, STATUS("\"0\""));
        expect_quiet(&f);
        assert_string_equal(publisher_trouble(f.publisher), "");
}

/* A kubelet has reset it, or the two maps differ, or somebody has written what is no amount. */
TEST(changed_by_others) {
        static const struct {
                const char *status, *offer;
        } rows[] = {
                {"{}", OFFER("\"0\"")}, /* and from there it rises */
                {"{\"capacity\":{\"" KUBE_IDLE_RESOURCE "\":\"6400\"}}", OFFER("\"0\"")},
                {STATUS("\"-5\""), OFFER("\"0\"")},
                {STATUS("\"2500m\""), OFFER("\"0\"")},
                {STATUS("\"1e30\""), OFFER("\"0\"")},
                {STATUS("\"many\""), OFFER("\"0\"")},
                {STATUS("6400"), OFFER("\"0\"")},
                {STATUS("\"7k\""), OFFER("\"6400\"")},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end) struct fixture f = {0};
                api_answer(&f.api, 200, "{}", PATCH, rows[i].offer);
                begin(&f, "  idle: {}\n", STATUS("\"6400\""));
                read_node(&f, 0.25);
                expect_quiet(&f);
                see(&f, rows[i].status);
                expect_patch(&f);
                expect_quiet(&f);
        }
}

/* What it must carry is there before the patch is sent. */
TEST(no_longer_wanted) {
        _cleanup_(end) struct fixture f = {0};

        begin(&f, "  idle: {}\n", "{}");
        read_node(&f, 0.9);
        idle_writer_tick(f.offers, true);
        assert_false(publisher_is_idle(f.publisher));
        see(&f, STATUS("\"0\""));
        api_run_quiet(&f.api);
        assert_true(publisher_is_idle(f.publisher));
        assert_int_equal(atomic_load(&f.api.rig.server.served), 0);
}

/* A node that has gone and come back is no reason to rest. */
TEST(not_found) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 404, "{}", PATCH, OFFER("\"0\""));
        api_answer(&f.api, 200, "{}", PATCH, OFFER("\"0\""));
        begin(&f, "  idle: {}\n", "{}");
        read_node(&f, 0.9);
        expect_patch(&f);
        expect_patch(&f);
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
