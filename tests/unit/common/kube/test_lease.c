/* A candidate for a Lease against a server that answers from a script. Its rules have a test of
 * their own, test_lease_candidate.c. */
#include "tests/unit/fixture/test.h"

#include <semaphore.h>

#include "kube/lease.h"
#include "tests/unit/fixture/reflector_steps.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/n%2Fs/leases"
#define GET "GET " LEASES "/l HTTP"
#define POST "POST " LEASES " HTTP"
#define PUT "PUT " LEASES "/l HTTP"
#define META(version) "\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"" version "\"}"
#define HELD(holder, version)                                                                      \
        "{" META(version) ",\"spec\":{\"holderIdentity\":\"" holder                                \
                          "\",\"leaseDurationSeconds\":15,\"acquireTime\":\"t0\",\"renewTime\":"   \
                          "\"t" version "\",\"leaseTransitions\":3}}"
#define LETTERS_64 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"
#define LETTERS_384 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64

/* Rows that run one after the other. */
static struct lease *lease;

static void note(struct fixture *f, const char *what) {
        (void)buf_printf(&f->log, "%s %lld;", what, (long long)(later_ms / MS_PER_S));
}

static void on_started(void *userdata) {
        assert_true(lease_is_leading(lease));
        note(userdata, "lead");
}

static void on_stopped(void *userdata) {
        assert_false(lease_is_leading(lease));
        note(userdata, "stop");
}

static void on_released(void *userdata) {
        note(userdata, "released");
}

static sem_t is_released;

static void release(struct fixture *f) {
        lease_release(lease, on_released, f);
        assert_int_equal(sem_post(&is_released), 0);
}

static void await_release(void *userdata) {
        (void)userdata;
        while (sem_wait(&is_released) < 0)
                ;
}

/* What is asked for, and the answer; status 0: none comes. */
struct step {
        const char *expect[3];
        int status;
        const char *body;
        bool is_late; /* the answer comes behind release() */
};

/* From the first request to the last, which takes away the beginning of every later one. */
static void elect(struct fixture *f, const struct step *script, const struct clock_step *clock) {
        for (; script->expect[0]; script++)
                scripted_add(
                        &f->rig.server,
                        (struct scripted_reply){
                                .expect = {script->expect[0], script->expect[1], script->expect[2]},
                                .response = script->status ? scripted_http(script->status, "",
                                                                           script->body)
                                                           : xstrdup(""),
                                .before = script->is_late ? await_release : NULL,
                                .holds = true});
        assert_int_equal(sem_init(&is_released, 0, 0), 0);
        start_stepped(f);
        lease = lease_new(f->rig.loop, f->rig.api, f->rig.metrics,
                          &(struct lease_options){.namespace = "n/s",
                                                  .name = "l",
                                                  .identity = "me",
                                                  .timing = LEASE_TIMING_DEFAULT,
                                                  .events = {on_started, on_stopped, f}});
        run_stepped(f, clock);
}

static void end(struct fixture *f) {
        lease_free(lease);
        stop(f);
}

#define ACQUIRE                                                                                    \
        {{GET}, 404, "{}"}, {                                                                      \
                {POST}, 201, HELD("me", "1")                                                       \
        }

TEST(acquire_and_renew) {
        struct fixture f = {.wanted_log = "lead 0;"};
        static const struct step script[] = {
                {{GET}, 404, "{}"},
                {{POST, "\"metadata\":{\"name\":\"l\",\"namespace\":\"n/s\"}",
                  "\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,"
                  "\"acquireTime\":\"2"},
                 201,
                 "{" META("1") ",\"more\":[1],\"spec\":{\"holderIdentity\":\"me\",\"strategy\":"
                               "\"x\",\"acquireTime\":\"t0\"}}"},
                /* what others wrote is kept, and the beginning of the term */
                {{PUT,
                  META("1") ",\"more\":[1],\"spec\":{\"holderIdentity\":\"me\",\"strategy\":"
                            "\"x\",\"acquireTime\":\"t0\"",
                  "\"leaseTransitions\":0"},
                 200,
                 HELD("me", "2")},
                {{PUT, META("2"), "\"leaseTransitions\":3"}, 200, HELD("me", "3")},
                {{NULL}},
        };
        static const struct clock_step clock[] = {{2, 2}, {3, 2}, {0}};

        elect(&f, script, clock);
        assert_true(lease_is_leading(lease));
        assert_true(lease_is_settled(lease));
        assert_string_equal(lease_leader(lease), "me");
        assert_string_equal(lease_identity(lease), "me");
        assert_string_equal(lease_trouble(lease), "");
        assert_true(metrics_value(lease_leader_gauge(f.rig.metrics)) == 1);
        end(&f);
}

/* By our own clock: what times the spec has does not matter. */
TEST(take_over) {
        static const char *const leases[] = {
                HELD("other", "1"),
                "{" META("1") ",\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":15,"
                              "\"renewTime\":\"9999-12-31T23:59:59.000000Z\",\"leaseTransitions\":"
                              "3}}",
                "{" META("1") ",\"spec\":{\"holderIdentity\":\"" LETTERS_384
                              "\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3}}",
        };
        static const struct clock_step clock[] = {{1, 2}, {2, 14}, {0}};

        for (size_t i = 0; i < ARRAY_LEN(leases); i++) {
                struct fixture f = {.wanted_log = "lead 16;"};
                const struct step script[] = {
                        {{GET}, 200, leases[i]},
                        {{GET}, 200, leases[i]},
                        {{GET}, 200, leases[i]},
                        {{PUT, META("1"), "\"leaseTransitions\":4"}, 200, HELD("me", "2")},
                        {{NULL}},
                };
                elect(&f, script, clock);
                end(&f);
        }
}

TEST(lose) {
        static const struct {
                const char *log, *leader, *trouble;
                struct step script[8];
                struct clock_step clock[5];
        } rows[] = {
                /* another was quicker */
                {"lead 0;stop 2;", "other", "",
                 .script = {ACQUIRE, {{PUT}, 409, "{}"}, {{GET}, 200, HELD("other", "7")}},
                 .clock = {{2, 2}}},
                /* the conflict was with ourselves, or with somebody's annotation */
                {"lead 0;", "me", "",
                 .script = {ACQUIRE,
                            {{PUT}, 409, "{}"},
                            {{GET}, 200, HELD("me", "7")},
                            {{PUT, META("7")}, 200, HELD("me", "8")}},
                 .clock = {{2, 2}}},
                /* once a round */
                {"lead 0;stop 4;", "other", "",
                 .script = {ACQUIRE,
                            {{PUT}, 409, "{}"},
                            {{GET}, 200, HELD("me", "7")},
                            {{PUT, META("7")}, 409, "{}"},
                            {{GET}, 200, HELD("other", "8")}},
                 .clock = {{2, 2}, {5, 2}}},
                /* deleted: that is no trouble, and looked at again at once */
                {"lead 0;", "me", "", .script = {ACQUIRE, {{PUT}, 404, "{}"}, {{GET}, 0, NULL}},
                 .clock = {{2, 2}}},
                /* it is made again */
                {"lead 0;", "me", "",
                 .script = {ACQUIRE,
                            {{PUT}, 404, "{}"},
                            {{GET}, 404, "{}"},
                            {{POST}, 201, HELD("me", "9")},
                            {{PUT, META("9")}, 200, HELD("me", "10")}},
                 .clock = {{2, 2}, {5, 2}}},
                /* silence: until 10 s after what was answered last had been sent */
                {"lead 0;stop 10;", "me", "not finished after 5000 ms",
                 .script = {ACQUIRE, {{PUT}, 0, NULL}, {{GET}, 0, NULL}},
                 .clock = {{2, 2}, {3, 5}, {4, 1}, {4, 2}}},
                /* an answer that is none, though the write may have been done */
                {"lead 0;stop 2;", "other", "",
                 .script = {ACQUIRE, {{PUT}, 200, "{}"}, {{GET}, 200, HELD("other", "7")}},
                 .clock = {{2, 2}}},
                /* our write, in which a webhook has put somebody else */
                {"lead 0;stop 2;", "other", "",
                 .script = {ACQUIRE, {{PUT}, 200, HELD("other", "7")}}, .clock = {{2, 2}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.wanted_log = rows[i].log};
                elect(&f, rows[i].script, rows[i].clock);
                if (strcmp(lease_leader(lease), rows[i].leader) != 0 ||
                    !strstr(lease_trouble(lease), rows[i].trouble) ||
                    !*lease_trouble(lease) != !*rows[i].trouble)
                        fail_msg("row %zu: leader %s, trouble '%s'", i, lease_leader(lease),
                                 lease_trouble(lease));
                end(&f);
        }
}

/* What is first read, and what is asked for then: a write that takes the Lease, or nothing. */
TEST(hostile_specs) {
#define SPEC(fields) "{" META("1") ",\"spec\":{" fields "}}"
        static const struct {
                const char *spec;
                struct step then;
                int64_t after_s;
                bool is_bad;
        } rows[] = {
                {"", .then = {{GET}}, .after_s = 5, .is_bad = true},
                {"]", .then = {{GET}}, .after_s = 5, .is_bad = true},
                {"[]", .then = {{GET}}, .after_s = 5, .is_bad = true},
                {"{}", .then = {{GET}}, .after_s = 5, .is_bad = true},
                {"{\"metadata\":{\"name\":\"l\",\"resourceVersion\":7}}", .then = {{GET}},
                 .after_s = 5, .is_bad = true},
                {"{\"metadata\":{\"resourceVersion\":\"7\"}}", .then = {{GET}}, .after_s = 5,
                 .is_bad = true},
                /* released, or never held */
                {SPEC("\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,\"leaseTransitions\":3"),
                 .then = {{PUT, META("1"), "\"leaseTransitions\":4"}}},
                {"{" META("1") "}", .then = {{PUT, META("1"), "\"leaseTransitions\":1"}}},
                {"{" META("1") ",\"spec\":[]}", .then = {{PUT, "\"holderIdentity\":\"me\""}}},
                {SPEC("\"holderIdentity\":7,\"leaseDurationSeconds\":\"15\""),
                 .then = {{PUT, "\"leaseTransitions\":1"}}},
                /* counts for no time */
                {SPEC("\"holderIdentity\":\"other\",\"leaseDurationSeconds\":-15,"
                      "\"leaseTransitions\":-7"),
                 .then = {{PUT, "\"leaseTransitions\":1"}}},
                {SPEC("\"holderIdentity\":\"other\",\"leaseTransitions\":9000000000000000000"),
                 .then = {{PUT, "\"leaseTransitions\":2147483647"}}},
                /* counts for 68 years */
                {SPEC("\"holderIdentity\":\"other\",\"leaseDurationSeconds\":9000000000000000000"),
                 .then = {{GET}}, .after_s = 1000000000},
                /* our own, with times that are none: they are not written back */
                {SPEC("\"holderIdentity\":\"me\",\"acquireTime\":\"" LETTERS_64 "\""),
                 .then = {{PUT, "\"acquireTime\":\"2"}}},
                {SPEC("\"holderIdentity\":\"me\",\"acquireTime\":7"),
                 .then = {{PUT, "\"acquireTime\":\"2"}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.wanted_log = ""};
                const struct step script[] = {{{GET}, 200, rows[i].spec}, rows[i].then, {{NULL}}};
                const struct clock_step clock[] = {{rows[i].after_s > 0, rows[i].after_s}, {0}};
                elect(&f, script, clock);
                if (rows[i].is_bad ? !strstr(lease_trouble(lease), "bad_answer")
                                   : *lease_trouble(lease) != '\0')
                        fail_msg("row %zu: trouble '%s'", i, lease_trouble(lease));
                assert_int_equal(lease_is_settled(lease), !rows[i].is_bad);
                end(&f);
        }
}

/* A namespace that is gone, or a role that lacks a verb. */
TEST(refused) {
        struct fixture f = {.wanted_log = "lead 10;"};
        static const struct step script[] = {
                {{GET}, 404, "{}"},
                {{POST}, 404, "{\"message\":\"no namespace\"}"},
                {{GET}, 404, "{}"},
                {{POST}, 403, "{\"message\":\"no verb create\"}"},
                ACQUIRE,
                {{NULL}},
        };
        static const struct clock_step clock[] = {{2, 5}, {4, 5}, {0}};

        elect(&f, script, clock);
        assert_string_equal(lease_trouble(lease), "");
        end(&f);
}

TEST(release) {
#define FREE "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1"
        static const struct {
                struct step script[8];
                struct clock_step clock[4];
                const char *log;
        } rows[] = {
                {{ACQUIRE, {{PUT, FREE, META("1")}, 200, HELD("", "2")}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                /* over what was written in the meantime, once */
                {{ACQUIRE,
                  {{PUT, FREE}, 409, "{}"},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                {{ACQUIRE,
                  {{PUT, FREE}, 409, "{}"},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 409, "{}"}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                /* it is no longer ours, or who knows */
                {{ACQUIRE, {{PUT, FREE}, 409, "{}"}, {{GET}, 200, HELD("other", "7")}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                {{ACQUIRE, {{PUT, FREE}, 409, "{}"}, {{GET}, 200, "{}"}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                {{ACQUIRE, {{PUT, FREE}, 409, "{}"}, {{GET}, 500, "{}"}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                {{ACQUIRE, {{PUT, FREE}, 404, "{}"}, {{GET}, 404, "{}"}},
                 {{2, .act = release}},
                 "lead 0;stop 0;released 0;"},
                /* nobody waits forever */
                {{ACQUIRE, {{PUT, FREE}, 0, NULL}},
                 {{2, .act = release}, {3, 1}},
                 "lead 0;stop 0;released 1;"},
                /* a renewal is under way */
                {{ACQUIRE,
                  {{PUT}, 200, HELD("me", "7"), .is_late = true},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, 2}, {2, .act = release}},
                 "lead 0;stop 2;released 2;"},
                {{ACQUIRE,
                  {{PUT}, 409, "{}", .is_late = true},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, 2}, {2, .act = release}},
                 "lead 0;stop 2;released 2;"},
                /* done or not: its answer is not waited for forever */
                {{ACQUIRE,
                  {{PUT}, 0, NULL},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, 2}, {3, .act = release}, {3, 1}},
                 "lead 0;stop 2;released 3;"},
                /* so it is with the write that would have begun to lead */
                {{{{GET}, 404, "{}"},
                  {{POST}, 201, HELD("me", "7"), .is_late = true},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{1, .act = release}},
                 "released 0;"},
                {{{{GET}, 200, HELD("", "1")}, {{PUT}, 409, "{}", .is_late = true}},
                 {{1, .act = release}},
                 "released 0;"},
                {{{{GET}, 200, HELD("", "1")},
                  {{PUT}, 500, "{}", .is_late = true},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{1, .act = release}},
                 "released 0;"},
                {{{{GET}, 200, HELD("", "1")},
                  {{PUT}, 0, NULL},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, .act = release}, {2, 1}},
                 "released 1;"},
                {{{{GET}, 404, "{}"}, {{POST}, 0, NULL}, {{GET}, 404, "{}"}},
                 {{2, .act = release}, {2, 1}},
                 "released 1;"},
                /* it failed a moment ago */
                {{{{GET}, 404, "{}"},
                  {{POST}, 500, "{}"},
                  {{GET}, 200, HELD("me", "7")},
                  {{PUT, FREE, META("7")}, 200, HELD("", "8")}},
                 {{2, .act = release}},
                 "released 0;"},
                /* nothing is ours */
                {{{{GET}, 200, HELD("other", "1")}}, {{1, .act = release}}, "released 0;"},
                {{{{GET}, 0, NULL}}, {{1, .act = release}}, "released 0;"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.wanted_log = rows[i].log};
                elect(&f, rows[i].script, rows[i].clock);
                assert_false(lease_is_leading(lease));
                assert_true(metrics_value(lease_leader_gauge(f.rig.metrics)) == 0);
                end(&f);
        }
}

TEST(identity) {
        _cleanup_(freep) char *one = lease_identity_new(), *two = lease_identity_new();

        assert_string_not_equal(one, two);
        assert_true(strlen(strrchr(one, '_')) == 17); /* of 16 random digits */
}
