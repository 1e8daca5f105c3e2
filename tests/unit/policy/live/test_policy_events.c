/* Events as they reach an API server, and how many. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/api_fixture.h"

#include "policy/live/policy_events.h"

struct fixture {
        struct api_fixture api;
        struct policy_events *events;
        double wanted;
};

static const struct kube_fence no_fence = {0};

static double count(const struct fixture *f, const char *reason, const char *result) {
        return metrics_value(metrics_counter(f->api.rig.metrics, "plimsoll_events_total", "",
                                             LABELS("reason", reason, "result", result)));
}

static void start(struct fixture *f) {
        api_start(&f->api);
        f->events = policy_events_new(&f->api.daemon);
        policy_events_set_writer(f->events, &no_fence);
}

static void stop(struct fixture *f) {
        policy_events_free(f->events);
        api_stop(&f->api);
}

static double answered(const struct fixture *f) {
        static const char *const reasons[] = {"PolicyInvalid", "PolicyInForce", "PolicyWarning"};
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

static void tell(struct fixture *f, enum policy_event event, const char *message) {
        policy_events_write(f->events, event, "u-1", message);
}

TEST(one_event) {
        _cleanup_(stop) struct fixture f = {0};

        scripted_add(
                &f.api.rig.server,
                (struct scripted_reply){
                        .expect = {"PATCH /api/v1/namespaces/default/events/"
                                   "default.plimsoll-policy-invalid?fieldManager="
                                   "plimsoll-controller&force=true HTTP/1.1\r\n",
                                   "Content-Type: application/apply-patch+yaml\r\n",
                                   "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{"
                                   "\"name\":\"default.plimsoll-policy-invalid\",\"namespace\":"
                                   "\"default\"},\"involvedObject\":{\"apiVersion\":"
                                   "\"scheduler.policy.crane.io/v1alpha1\",\"kind\":"
                                   "\"DynamicSchedulerPolicy\",\"name\":\"default\",\"uid\":"
                                   "\"u-1\"},\"type\":\"Warning\",\"reason\":\"PolicyInvalid\","
                                   "\"message\":\"because\",",
                                   "\"count\":1}"},
                        .response = scripted_http(201, "", "{}"),
                });
        start(&f);
        tell(&f, POLICY_EVENT_INVALID, "because");
        run_until(&f, 1);
        assert_true(count(&f, "PolicyInvalid", "sent") == 1);
}

TEST(counts_for_an_hour) {
        static const char path[] = "/default.plimsoll-policy-in-force?";
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 201, "{}", path, "\"count\":1}");
        api_answer(&f.api, 201, "{}", "/default.plimsoll-policy-warning?", "\"count\":1}");
        api_answer(&f.api, 200, "{}", path, "\"count\":2}");
        api_answer(&f.api, 201, "{}", path, "\"count\":1}");
        start(&f);
        tell(&f, POLICY_EVENT_IN_FORCE, "a");
        tell(&f, POLICY_EVENT_WARNING, "b");
        run_until(&f, 2);
        later_ms += 3000 * MS_PER_S;
        tell(&f, POLICY_EVENT_IN_FORCE, "c");
        run_until(&f, 3);
        later_ms += 3700 * MS_PER_S;
        run_until(&f, 3); /* the loop's time is that of its pass */
        tell(&f, POLICY_EVENT_IN_FORCE, "d");
        run_until(&f, 4);
}

/* Only the latest change waits for an answer. */
TEST(all_at_once) {
        enum { MANY = 5000 };
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 201, "{}", "\"message\":\"first\"", NULL);
        api_answer(&f.api, 200, "{}", "\"message\":\"last\"", "\"count\":5002}");
        start(&f);
        tell(&f, POLICY_EVENT_IN_FORCE, "first");
        for (int i = 0; i < MANY; i++)
                tell(&f, POLICY_EVENT_IN_FORCE, "between");
        tell(&f, POLICY_EVENT_IN_FORCE, "last");
        run_until(&f, 2);
        assert_true(count(&f, "PolicyInForce", "dropped") == MANY);
}

TEST(a_refusal_is_no_end) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 403, "{}", "\"a\"", NULL);
        api_answer(&f.api, 403, "{}", "\"b\"", NULL);
        api_answer(&f.api, 201, "{}", "\"c\"", NULL);
        start(&f);
        tell(&f, POLICY_EVENT_WARNING, "a");
        tell(&f, POLICY_EVENT_INVALID, "b");
        run_until(&f, 2);
        tell(&f, POLICY_EVENT_IN_FORCE, "c");
        run_until(&f, 3);
        assert_true(count(&f, "PolicyInvalid", "failed") == 1);
        assert_true(count(&f, "PolicyInForce", "sent") == 1);
}

TEST(only_the_writer_tells) {
        _cleanup_(stop) struct fixture f = {0};

        api_answer(&f.api, 201, "{}", "\"d\"", NULL);
        start(&f);
        /* What waits or is under way when the replica stops leading is not sent. */
        tell(&f, POLICY_EVENT_IN_FORCE, "a");
        tell(&f, POLICY_EVENT_WARNING, "b");
        policy_events_set_writer(f.events, NULL);
        assert_true(count(&f, "PolicyInForce", "dropped") == 1);
        assert_true(count(&f, "PolicyWarning", "dropped") == 1);
        tell(&f, POLICY_EVENT_IN_FORCE, "c");
        policy_events_set_writer(f.events, &no_fence);
        tell(&f, POLICY_EVENT_IN_FORCE, "d");
        run_until(&f, 1);
}

/* jansson refuses it; nothing else may. */
TEST(a_message_that_is_no_utf8) {
        _cleanup_(stop) struct fixture f = {0};

        start(&f);
        tell(&f, POLICY_EVENT_IN_FORCE, "\xff");
        run_until(&f, 0);
        assert_true(count(&f, "PolicyInForce", "dropped") == 1);
}
