/* Events as they reach an API server, and how many. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"

#include "controller/writing/recorder.h"

struct fixture {
        struct api_fixture api;
        struct recorder *recorder;
        double wanted;
};

static const struct kube_fence no_fence = {0};

static double count(const struct fixture *f, const char *reason, const char *result) {
        return metrics_value(metrics_counter(f->api.rig.metrics, "plimsoll_events_total", "",
                                             LABELS("reason", reason, "result", result)));
}

static void start(struct fixture *f) {
        api_start(&f->api);
        f->recorder = recorder_new(&f->api.daemon);
        recorder_set_writer(f->recorder, &no_fence);
}

static void stop(struct fixture *f) {
        recorder_free(f->recorder);
        api_stop(&f->api);
}

static double answered(const struct fixture *f) {
        static const char *const reasons[] = {"NodeOverloaded", "NodeLoadNormal", "NodeLoadStale"};
        double sum = 0;

        for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
                sum += count(f, reasons[i], "sent") + count(f, reasons[i], "failed");
        return sum;
}

static bool is_answered(void *userdata) {
        const struct fixture *f = userdata;

        return answered(f) >= f->wanted;
}

/* Runs until so many Events in all have been answered. */
static void run_until(struct fixture *f, double wanted) {
        f->wanted = wanted;
        api_run(&f->api, is_answered, f);
        assert_true(answered(f) == wanted);
}

static void tell(struct fixture *f, enum event_reason reason, const char *name) {
        recorder_write(
                f->recorder,
                &(struct event){.reason = reason, .name = name, .uid = name, .message = "because"});
}

TEST(one_event) {
        _cleanup_(stop) struct fixture f = {0};

        scripted_add(
                &f.api.rig.server,
                (struct scripted_reply){
                        .expect = {"PATCH /api/v1/namespaces/default/events/"
                                   "node-1.plimsoll-overloaded?fieldManager=plimsoll-controller"
                                   "&force=true HTTP/1.1\r\n",
                                   "Content-Type: application/apply-patch+yaml\r\n",
                                   "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{"
                                   "\"name\":\"node-1.plimsoll-overloaded\",\"namespace\":"
                                   "\"default\"},\"involvedObject\":{\"apiVersion\":\"v1\","
                                   "\"kind\":\"Node\",\"name\":\"node-1\",\"uid\":\"node-1\"},"
                                   "\"type\":\"Warning\",\"reason\":\"NodeOverloaded\","
                                   "\"message\":\"because\",",
                                   "\"count\":1}"},
                        .response = scripted_http(201, "", "{}"),
                });
        start(&f);
        tell(&f, EVENT_NODE_OVERLOADED, "node-1");
        run_until(&f, 1);
        assert_true(count(&f, "NodeOverloaded", "sent") == 1);
}

TEST(counts_for_an_hour) {
        static const char first[] = "/node-1.plimsoll-load-stale?";
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 201, "{}", first, "\"count\":1}");
        api_answer(&f.api, 201, "{}", "/node-2.plimsoll-load-stale?", "\"count\":1}");
        api_answer(&f.api, 200, "{}", first, "\"count\":2}");
        api_answer(&f.api, 201, "{}", first, "\"count\":1}");
        start(&f);
        tell(&f, EVENT_NODE_LOAD_STALE, "node-1");
        tell(&f, EVENT_NODE_LOAD_STALE, "node-2");
        run_until(&f, 2);
        later_ms += 3000 * MS_PER_S;
        tell(&f, EVENT_NODE_LOAD_STALE, "node-1");
        run_until(&f, 3);
        later_ms += 3700 * MS_PER_S;
        run_until(&f, 3); /* the loop's time is that of its turn */
        tell(&f, EVENT_NODE_LOAD_STALE, "node-1");
        run_until(&f, 4);
}

TEST(all_at_once) {
        enum { NODES = 5000, A_MINUTE = 10 };
        _cleanup_(stop) struct fixture f = {0};
        char name[32];

        for (size_t i = 0; i < A_MINUTE; i++)
                api_answer(&f.api, 201, "{}", "\"message\":\"because\"", NULL);
        api_answer(&f.api, 201, "{}", "/node-6.plimsoll-load-normal?", "\"message\":\"because\"");
        api_answer(&f.api, 201, "{}", "/node-4999.plimsoll-load-stale?",
                   "\"message\":\"because (and 4989 more within a minute)\"");
        start(&f);
        for (int i = 0; i < NODES; i++) {
                (void)snprintf(name, sizeof(name), "node-%d", i);
                tell(&f, EVENT_NODE_LOAD_STALE, name);
        }
        tell(&f, EVENT_NODE_LOAD_NORMAL, "node-6");
        run_until(&f, A_MINUTE);
        assert_true(count(&f, "NodeLoadStale", "held") == NODES - A_MINUTE);
        later_ms += 61 * MS_PER_S;
        run_until(&f, A_MINUTE + 2);
        assert_true(count(&f, "NodeLoadStale", "sent") == A_MINUTE + 1);
        assert_true(count(&f, "NodeLoadStale", "dropped") == 0);
}

/* While the API server hangs, no more Events wait than there is room for. */
TEST(queue_is_full) {
        enum { A_MINUTE = 10, MINUTES = 5, ROOM = 32 };
        static char names[MINUTES * A_MINUTE][32];
        _cleanup_(stop) struct fixture f = {0};

        scripted_add_usual(&f.api.rig.server, (struct scripted_reply){.expect = {"PATCH "},
                                                                      .response = xstrdup(""),
                                                                      .holds = true});
        start(&f);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (i > 0 && i % A_MINUTE == 0)
                        api_wait_ms(&f.api, 61 * MS_PER_S);
                (void)snprintf(names[i], sizeof(names[i]), "node-%zu", i);
                tell(&f, EVENT_NODE_OVERLOADED, names[i]);
        }
        double dropped = count(&f, "NodeOverloaded", "dropped");
        assert_true(dropped > 0);
        assert_true(dropped + count(&f, "NodeOverloaded", "failed") == MINUTES * A_MINUTE - ROOM);
}

TEST(a_refusal_is_no_end) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 403, "{}", "node-1", NULL);
        api_answer(&f.api, 403, "{}", "node-2", NULL);
        api_answer(&f.api, 201, "{}", "node-3", NULL);
        start(&f);
        tell(&f, EVENT_NODE_OVERLOADED, "node-1");
        tell(&f, EVENT_NODE_OVERLOADED, "node-2");
        tell(&f, EVENT_NODE_OVERLOADED, "node-3");
        run_until(&f, 3);
        assert_true(count(&f, "NodeOverloaded", "failed") == 2);
        assert_true(count(&f, "NodeOverloaded", "sent") == 1);
}

TEST(only_the_writer_tells) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 201, "{}", "node-3", NULL);
        start(&f);
        /* What is queued or under way when the replica stops leading is not sent. */
        tell(&f, EVENT_NODE_OVERLOADED, "node-1");
        recorder_set_writer(f.recorder, NULL);
        assert_true(count(&f, "NodeOverloaded", "dropped") == 1);
        tell(&f, EVENT_NODE_OVERLOADED, "node-2");
        recorder_set_writer(f.recorder, &no_fence);
        tell(&f, EVENT_NODE_OVERLOADED, "node-3");
        run_until(&f, 1);
}

/* jansson refuses it; nothing else may. */
TEST(a_message_that_is_no_utf8) {
        _cleanup_(stop) struct fixture f = {0};

        start(&f);
        tell(&f, EVENT_NODE_OVERLOADED, "node-\xff");
        run_until(&f, 0);
        assert_true(count(&f, "NodeOverloaded", "dropped") == 1);
}
