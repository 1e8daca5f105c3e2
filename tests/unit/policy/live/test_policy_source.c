/* The policy object as the API server shows it, and its status; or a file. Linked with
 * --wrap=clock_gettime and --wrap=stat64. */
#include "tests/unit/fixture/test.h"

#include "tests/unit/fixture/api_fixture.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/live/policy_source.h"

#define LIST "GET " POLICY_OBJECT_PATH "?fieldSelector=metadata.name%3Ddefault&limit="
#define WATCH "watch=1"
#define PATCH "PATCH " POLICY_OBJECT_PATH "/default/status?fieldManager=plimsoll-controller "
#define OBJECTS(object)                                                                            \
        "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" object "]}"
#define OBJECT(uid, spec)                                                                          \
        "{\"apiVersion\":\"scheduler.policy.crane.io/v1alpha1\",\"kind\":"                         \
        "\"DynamicSchedulerPolicy\",\"metadata\":{\"name\":\"default\"" uid "},\"spec\":" spec "}"
#define UID(text) ",\"uid\":\"" text "\""
#define SYNC(period) "{\"syncPolicy\":[{\"name\":\"cpu_usage_avg_5m\",\"period\":\"" period "\"}]}"

struct fixture {
        struct api_fixture api;
        struct policy_source *source;
        size_t policies, looks;
        bool is_known;
        const char *told; /* what readiness is to say, or is not */
        const char *path; /* NULL: the object */
};

static const struct kube_fence no_fence = {0};

static void on_policy(void *userdata, struct policy *policy) {
        ((struct fixture *)userdata)->policies++;
        policy_free(policy);
}

static void on_known(void *userdata) {
        ((struct fixture *)userdata)->is_known = true;
}

static void begin(struct fixture *f) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        api_start(&f->api);
        if (policy_source_new(&(struct policy_source_options){.loop = f->api.rig.loop,
                                                              .metrics = f->api.rig.metrics,
                                                              .health = f->api.health,
                                                              .path = f->path,
                                                              .on_policy = on_policy,
                                                              .on_known = on_known,
                                                              .userdata = f},
                              &f->source, &policy, &err) < 0)
                fail_msg("%s", err.msg);
        policy_free(policy);
        policy_source_watch_object(f->source, f->api.rig.api);
}

static void end(struct fixture *f) {
        policy_source_free(f->source);
        api_stop(&f->api);
}

static bool is_told(void *userdata) {
        const struct fixture *f = userdata;
        struct buf out = BUF_INIT(4096);

        (void)health_write_ready(f->api.health, &out);
        bool found = strstr(out.data, f->told) != NULL;
        buf_done(&out);
        return found;
}

static bool is_not_told(void *userdata) {
        return !is_told(userdata);
}

static bool is_asked(void *userdata) {
        return atomic_load(&((struct fixture *)userdata)->api.rig.server.served) > 0;
}

/* Tried again every minute; logged when it begins and when it ends. */
TEST(status_that_cannot_be_written) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, "\"InForce\"");
        api_answer(&f.api, 403, "{\"message\":\"still no\"}", PATCH, NULL);
        api_answer(&f.api, 200, "{}", PATCH, NULL);
        api_answer_usually(&f.api, 200, "", WATCH);
        api_answer_usually(&f.api, 200, OBJECTS(OBJECT("", SYNC("3m"))), LIST);
        api_answer_usually(&f.api, 200, "{}", PATCH);
        begin(&f);
        policy_source_set_writer(f.source, &no_fence);
        f.told = "its status cannot be written: 403 no";
        api_run(&f.api, is_told, &f);
        assert_int_equal(api_logged(&f.api, "msg=\"cannot write policy status\""), 1);
        later_ms += 60000;
        f.told = "its status cannot be written: 403 still no";
        api_run(&f.api, is_told, &f);
        assert_int_equal(api_logged(&f.api, "msg=\"cannot write policy status\""), 0);
        later_ms += 60000;
        f.told = "cannot be written";
        api_run(&f.api, is_not_told, &f);
        assert_int_equal(api_logged(&f.api, "msg=\"policy status written again\""), 1);
        assert_int_equal(f.policies, 1);
}

/* List, watch and patch. */
static bool has_answered_all(void *userdata) {
        return atomic_load(&((struct fixture *)userdata)->api.rig.server.answered) == 3;
}

/* A writer that no longer is one has no trouble with it: another one writes. */
TEST(status_is_for_another_to_write) {
        _cleanup_(end) struct fixture f = {.told = "its status cannot be written: 403 no"};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, NULL);
        api_answer_usually(&f.api, 200, "", WATCH);
        api_answer_usually(&f.api, 200, OBJECTS(OBJECT("", SYNC("3m"))), LIST);
        begin(&f);
        policy_source_set_writer(f.source, &no_fence);
        api_run(&f.api, is_told, &f);
        policy_source_set_writer(f.source, NULL);
        f.told = "cannot be written";
        assert_true(is_not_told(&f));
}

#define EVENT(type, more)                                                                          \
        "{\"type\":\"" type                                                                        \
        "\",\"object\":" OBJECT(",\"resourceVersion\":\"2\"", SYNC("3m") more) "}\n"

/* @event: of the object whose status could not be written
 * @written: whether that is told to have ended */
static void check_end_of_trouble(const char *event, size_t written) {
        _cleanup_(end) struct fixture f = {.told = "its status cannot be written: 403 no"};

        api_answer(&f.api, 403, "{\"message\":\"no\"}", PATCH, NULL);
        scripted_add_usual(&f.api.rig.server,
                           (struct scripted_reply){.expect = {WATCH},
                                                   .response = scripted_stream(""),
                                                   .holds = true});
        api_answer_usually(&f.api, 200, OBJECTS(OBJECT("", SYNC("3m"))), LIST);
        begin(&f);
        policy_source_set_writer(f.source, &no_fence);
        api_run(&f.api, is_told, &f);
        api_run(&f.api, has_answered_all, &f);
        assert_true(send(f.api.rig.server.held[0], event, strlen(event), MSG_NOSIGNAL) > 0);
        f.told = "cannot be written";
        api_run(&f.api, is_not_told, &f);
        assert_int_equal(api_logged(&f.api, "msg=\"policy status written again\""), written);
}

/* If the answer was lost, or another writer was here, the object shows the status that it is to
 * have; and an object that is gone needs none. */
TEST(status_that_need_not_be_written) {
        check_end_of_trouble(EVENT("MODIFIED", ",\"status\":{\"observedGeneration\":0,"
                                               "\"conditions\":[{\"type\":\"InForce\",\"status\":"
                                               "\"True\",\"reason\":\"Loaded\",\"message\":"
                                               "\"policy is valid\"}]}"),
                             1);
        check_end_of_trouble(EVENT("DELETED", ""), 0);
}

/* An object that has been deleted has no status to write: that is no trouble. */
TEST(status_of_no_object) {
        _cleanup_(end) struct fixture f = {.told = "its status cannot be written: 403"};

        api_answer(&f.api, 404, "{}", PATCH, NULL);
        api_answer(&f.api, 403, "{}", PATCH, NULL);
        api_answer_usually(&f.api, 200, "", WATCH);
        api_answer_usually(&f.api, 200, OBJECTS(OBJECT("", SYNC("3m"))), LIST);
        begin(&f);
        policy_source_set_writer(f.source, &no_fence);
        api_run(&f.api, is_asked, &f);
        policy_source_set_writer(f.source, &no_fence);
        api_run(&f.api, is_told, &f);
        assert_int_equal(api_logged(&f.api, "\"cannot write policy status\" outcome=forbidden"), 1);
}

static bool is_watched(void *userdata) {
        return atomic_load(&((struct fixture *)userdata)->api.rig.server.answered) == 2;
}

static atomic_bool is_gone;

/* Before the status is answered: the watch's connection is the one that is held. */
static void delete_it(void *userdata) {
        static const char event[] = "{\"type\":\"DELETED\",\"object\":" OBJECT(
                ",\"resourceVersion\":\"2\"", SYNC("3m")) "}\n";
        struct scripted_server *server = userdata;

        (void)!send(server->held[0], event, strlen(event), MSG_NOSIGNAL);
        for (int ms = 0; ms < API_DEADLINE_MS && !atomic_load(&is_gone); ms++)
                (void)usleep(1000);
}

/* And ten looks later, when the answer has been read. */
static bool is_gone_and_answered(void *userdata) {
        struct fixture *f = userdata;

        if (is_told(f))
                atomic_store(&is_gone, true);
        f->looks += atomic_load(&f->api.rig.server.answered) == 3;
        return f->looks == 10;
}

TEST(deleted_while_its_status_is_written) {
        _cleanup_(end) struct fixture f = {.told = "; the object was deleted"};

        api_answer(&f.api, 200, OBJECTS(OBJECT("", SYNC("3m"))), LIST, NULL);
        scripted_add(&f.api.rig.server, (struct scripted_reply){.expect = {WATCH},
                                                                .response = scripted_stream(""),
                                                                .holds = true});
        scripted_add(&f.api.rig.server,
                     (struct scripted_reply){.expect = {PATCH},
                                             .response = scripted_http(200, "", "{}"),
                                             .before = delete_it});
        f.api.rig.server.userdata = &f.api.rig.server;
        begin(&f);
        api_run(&f.api, is_watched, &f);
        policy_source_set_writer(f.source, &no_fence);
        api_run(&f.api, is_gone_and_answered, &f);
        assert_true(is_gone);
}

/* Its spec makes it news, and so does another object of the same name. */
TEST(what_is_news) {
        static const char *const lists[] = {
                OBJECTS(OBJECT(UID("1"), SYNC("3m"))),
                OBJECTS(OBJECT(UID("1"), SYNC("3m"))),
                OBJECTS(OBJECT(UID("2"), SYNC("3m"))),
                OBJECTS(OBJECT(UID("2"), SYNC("4m"))),
        };
        _cleanup_(end) struct fixture f = {.api.pace_ms = 50, .told = "1 metric, generation 4"};

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                api_answer(&f.api, 200, lists[i], LIST, NULL);
        api_answer_usually(&f.api, 200, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n", WATCH);
        api_answer_usually(&f.api, 200, lists[3], LIST);
        begin(&f);
        api_run(&f.api, is_told, &f);
        assert_int_equal(atomic_load(&f.api.rig.server.served), ARRAY_LEN(lists));
        assert_int_equal(f.policies, 3);
}

#define DEEP_8 "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":"
#define END_8 "}}}}}}}}"

TEST(object_that_is_too_deep) {
        _cleanup_(end) struct fixture f = {
                .told = "the built-in policy, 4 metrics, generation 1; cannot load the "
                        "latest policy: DynamicSchedulerPolicy default: "};

        api_answer(&f.api, 200,
                   OBJECTS(OBJECT("", DEEP_8 DEEP_8 DEEP_8 DEEP_8 "{}" END_8 END_8 END_8 END_8)),
                   LIST, NULL);
        api_answer_usually(&f.api, 200, "", WATCH);
        begin(&f);
        api_run(&f.api, is_told, &f);
        assert_int_equal(f.policies, 0);
}

/* A new program is not ready until the object can no longer come, or 20 s have passed. The built-in
 * policy counts when there is no object; until that is known, or if there is one that cannot be
 * loaded, it only stands in. */
TEST(waits_for_the_object) {
        static const struct {
                int status; /* 0: no answer */
                const char *list, *waiting, *told;
                bool is_settled;
        } cases[] = {
                {0, "", "[-] policy: DynamicSchedulerPolicy default is not known yet: list: not ",
                 "[+] policy: the built-in policy, 4 metrics, generation 1; the object is not "
                 "watched: list: no answer for 8000 ms"},
                {500, "{}",
                 "[-] policy: DynamicSchedulerPolicy default is not known yet: list: 500",
                 "[+] policy: the built-in policy, 4 metrics, generation 1; the object is not "
                 "watched: list: 500"},
                {403, "{}", NULL, "[+] policy: the built-in policy"},
                {404, "{}", NULL, "[+] policy: the built-in policy"},
                {200, OBJECTS(""), NULL, "[+] policy: the built-in policy", true},
                {200, OBJECTS(OBJECT("", "1")), NULL, "cannot load the latest policy"},
                {200, OBJECTS(OBJECT("", SYNC("3m"))), NULL, "1 metric, generation 2", true},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct fixture f = {.told = "[-] policy: DynamicSchedulerPolicy default is not "
                                            "known yet"};

                api_answer_usually(&f.api, 200, "", WATCH);
                scripted_add_usual(&f.api.rig.server,
                                   (struct scripted_reply){
                                           .expect = {LIST},
                                           .response = cases[i].status
                                                               ? scripted_http(cases[i].status, "",
                                                                               cases[i].list)
                                                               : xstrdup(""),
                                           .holds = cases[i].status == 0});
                begin(&f);
                assert_true(is_told(&f) && !policy_source_is_settled(f.source));
                if (cases[i].waiting) {
                        f.told = cases[i].waiting;
                        api_run(&f.api, is_told, &f);
                        api_wait_ms(&f.api, 19 * MS_PER_S - api_passed_ms(&f.api));
                        f.told = "[-] policy: ";
                        assert_true(is_told(&f) && !f.is_known);
                        later_ms += 2 * MS_PER_S;
                }
                f.told = cases[i].told;
                api_run(&f.api, is_told, &f);
                assert_true(f.is_known);
                assert_int_equal(policy_source_is_settled(f.source), cases[i].is_settled);
                f.is_known = false;
                end(&f);
                assert_false(f.is_known); /* who is told may be gone already */
        }
}

static char file_path[] = "/tmp/policy-XXXXXX";
static bool is_to_change; /* when it is looked at next */

static void write_file(const char *metrics) {
        FILE *file = fopen(file_path, "we");

        assert_non_null(file);
        assert_true(fprintf(file,
                            "apiVersion: scheduler.policy.crane.io/v1alpha1\n"
                            "kind: DynamicSchedulerPolicy\nspec: {syncPolicy: [%s]}\n",
                            metrics) > 0);
        assert_int_equal(fclose(file), 0);
}

int __real_stat64(const char *path, struct stat64 *ret);
int __wrap_stat64(const char *path, struct stat64 *ret);
int __wrap_stat64(const char *path, struct stat64 *ret) {
        if (is_to_change)
                write_file("{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, "
                           "period: 3m}");
        is_to_change = false;
        return __real_stat64(path, ret);
}

/* A change of the file is not missed, however soon behind the start it comes. */
TEST(file_that_changes_meanwhile) {
        struct fixture f = {.path = file_path, .told = ", 2 metrics, generation "};
        int fd = mkstemp(file_path);

        assert_true(fd >= 0);
        write_file("{name: cpu_usage_avg_5m, period: 3m}");
        is_to_change = true;
        begin(&f);
        later_ms += 10 * MS_PER_S;
        api_run(&f.api, is_told, &f);
        end(&f);
        assert_int_equal(close(fd) + unlink(file_path), 0);
}

/* SIGHUP. */
TEST(reload_without_a_file) {
        _cleanup_(end) struct fixture f = {.told = "the built-in policy, 4 metrics, generation 1"};

        api_answer_usually(&f.api, 200, "", WATCH);
        api_answer_usually(&f.api, 200, OBJECTS(""), LIST);
        begin(&f);
        policy_source_reload(f.source);
        api_run(&f.api, is_told, &f);
        assert_int_equal(f.policies, 0);
}
