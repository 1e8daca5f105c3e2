/* --cleanup against an API server that has odd things to say. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/test.h"

#include "tests/unit/fixture/api_fixture.h"

#include "controller/cleanup/cleanup.h"
#include "kube/kube_proto.h"

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/ns%2F/leases/l"
#define LEASE "GET " LEASE_PATH " "
#define NODES "GET /api/v1/nodes?limit=250 "
#define ANEW "GET /api/v1/nodes?limit=1000" /* after an expired page */
#define WATCH "watch=1"
#define POLICY_PATH "/apis/policies/default"
#define LIST(metadata, items)                                                                      \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1\"" metadata "},"             \
        "\"items\":[" items "]}"
#define NODE(name, annotations)                                                                    \
        "{\"metadata\":{\"name\":\"" name "\",\"annotations\":{" annotations "}}}"
#define HOT "\"node_hot_value\":\"1\""
#define PATCH_OF(name) "PATCH /api/v1/nodes/" name "?fieldManager=plimsoll-controller "
#define HOT_REMOVED "{\"metadata\":{\"annotations\":{\"node_hot_value\":null}}}"

static struct cleanup *begin(struct api_fixture *f, const struct cleanup_options *changed) {
        struct cleanup_options options = *changed;

        options.prefix = "";
        options.lease_name = "l";
        options.lease_namespace = "ns/"; /* a name is no path */
        if (options.patches_per_s == 0)
                options.patches_per_s = 1000;
        api_start(f);
        return cleanup_new(&f->daemon, &options, policy_default());
}

static void end(struct api_fixture *f, struct cleanup *cleanup) {
        cleanup_free(cleanup);
        api_stop(f);
}

/* One that nobody holds is deleted, as it was read. */
TEST(lease) {
        static const char released[] = "{\"metadata\":{\"resourceVersion\":\"7\\\"\"},"
                                       "\"spec\":{\"holderIdentity\":\"\"}}";
        static const struct {
                int status; /* of the deletion */
                const char *logged;
        } rows[] = {
                {200, "msg=\"lease deleted\" lease=l"},
                {403, "msg=\"cannot delete the lease\" lease=l namespace=ns/ error=\"403"},
                {409, "msg=\"cannot delete the lease\" lease=l namespace=ns/ error=\"409"},
                {404, "msg=\"all nodes are clean\""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct api_fixture f = {0};
                api_answer(&f, 200, released, LEASE, NULL);
                api_answer(&f, 200, LIST("", ""), NODES, NULL);
                api_answer(&f, rows[i].status, "{}", "DELETE " LEASE_PATH " ",
                           "\"preconditions\":{\"resourceVersion\":\"7\\\"\"}");
                api_answer_usually(&f, 200, "", WATCH);
                struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
                api_run(&f, api_is_never, NULL);
                if (!api_logged(&f, rows[i].logged) ||
                    api_logged(&f, "the lease\"") !=
                            (rows[i].status == 403 || rows[i].status == 409))
                        fail_msg("row %zu: %s", i, f.log);
                assert_int_equal(cleanup_exit_code(cleanup), 0);
                end(&f, cleanup);
        }
}

#define HELD                                                                                       \
        "{\"metadata\":{\"resourceVersion\":\"6\"},\"spec\":{\"holderIdentity\":\"x\","            \
        "\"leaseDurationSeconds\":15,\"renewTime\":\"2999-01-01T00:00:00.000000Z\"}}"

/* A controller that is being stopped is waited for, before any node is listed. */
TEST(lease_given_up) {
        struct api_fixture f = {.pace_ms = 100};

        api_answer(&f, 200, HELD, LEASE, NULL);
        api_answer(&f, 200, HELD, LEASE, NULL);
        api_answer(&f, 200, "{\"metadata\":{\"resourceVersion\":\"7\"}}", LEASE, NULL);
        api_answer(&f, 200, LIST("", NODE("a", HOT)), NODES, NULL);
        api_answer(&f, 200, "{}", PATCH_OF("a"), HOT_REMOVED);
        api_answer(&f, 200, "{}", "DELETE " LEASE_PATH " ", NULL);
        api_answer_usually(&f, 200, "", WATCH);
        struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
        api_run(&f, api_is_never, NULL);
        assert_int_equal(api_logged(&f, "msg=\"waiting for a controller to give up the lease\" "
                                        "lease=l holder=x"),
                         1);
        assert_int_equal(api_logged(&f, "will write the annotations again"), 0);
        assert_int_equal(cleanup_exit_code(cleanup), 0);
        end(&f, cleanup);
}

/* One that goes on is warned of after a while, and keeps its Lease; a dry run does not wait. */
TEST(lease_kept) {
        for (int is_dry_run = 0; is_dry_run < 2; is_dry_run++) {
                struct api_fixture f = {.pace_ms = 100};
                api_answer_usually(&f, 200, HELD, LEASE);
                api_answer(&f, 200, LIST("", ""), NODES, NULL);
                struct cleanup *cleanup = begin(
                        &f, &(struct cleanup_options){.is_dry_run = is_dry_run});
                api_run(&f, api_is_never, NULL);
                assert_int_equal(api_logged(&f, "msg=\"a running controller holds the lease"), 1);
                int64_t passed_ms = api_passed_ms(&f);
                assert_true(is_dry_run ? passed_ms < 5000 : passed_ms > 19000 && passed_ms < 29000);
                assert_int_equal(cleanup_exit_code(cleanup), 0);
                end(&f, cleanup);
        }
}

/* Of a running controller one is warned; a Lease that cannot be read is none. */
TEST(lease_read) {
        static const struct {
                const char *lease;
                bool is_live;
        } rows[] = {
                {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15,"
                 "\"renewTime\":\"2999-01-01T00:00:00.000000Z\"}}",
                 true},
                {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15,"
                 "\"renewTime\":\"2020-01-01T00:00:00.000000Z\"}}",
                 false},
                /* released */
                {"{\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":15,"
                 "\"renewTime\":\"2999-01-01T00:00:00.000000Z\"}}",
                 false},
                {"{\"spec\":{\"leaseDurationSeconds\":15,"
                 "\"renewTime\":\"2999-01-01T00:00:00.000000Z\"}}",
                 false},
                {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15}}", false},
                {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15,"
                 "\"renewTime\":\"yesterday\"}}",
                 false},
                {"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":9223372036854775807,"
                 "\"renewTime\":\"2999-01-01T00:00:00.000000Z\"}}",
                 false},
                {"{}", false},
                {"<html>", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct api_fixture f = {0};
                api_answer(&f, 200, rows[i].lease, LEASE, NULL);
                api_answer(&f, 200, LIST("", ""), NODES, NULL);
                struct cleanup *cleanup = begin(&f, &(struct cleanup_options){.is_dry_run = true});
                api_run(&f, api_is_never, NULL);
                if (api_logged(&f, "msg=\"a running controller holds the lease") != rows[i].is_live)
                        fail_msg("row %zu: %s", i, f.log);
                assert_int_equal(cleanup_exit_code(cleanup), 0);
                end(&f, cleanup);
        }
}

/* The object says which names are metrics; without a good one the built-in policy does. */
TEST(policy) {
        static const struct {
                int status;
                const char *policy;
                const char *cleaned, *warns;
        } rows[] = {
                {200,
                 "{\"apiVersion\":\"scheduler.policy.crane.io/v1alpha1\",\"kind\":"
                 "\"DynamicSchedulerPolicy\",\"spec\":{\"syncPolicy\":[{\"name\":\"gpu_busy\","
                 "\"period\":\"3m\"}]}}",
                 "nodes_with_annotations=1", NULL},
                {200, "{\"spec\":{}}", "nodes_with_annotations=0", "apiVersion"},
                {403, "{}", "nodes_with_annotations=0", "403"},
                {404, "{}", "nodes_with_annotations=0", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct api_fixture f = {0};
                api_answer(&f, 404, "{}", LEASE, NULL);
                api_answer(&f, rows[i].status, rows[i].policy, "GET " POLICY_PATH " ", NULL);
                api_answer(&f, 200, LIST("", NODE("a", "\"gpu_busy\":\"1\"")), NODES, NULL);
                struct cleanup *cleanup = begin(
                        &f, &(struct cleanup_options){.policy_object = POLICY_PATH,
                                                      .is_dry_run = true});
                api_run(&f, api_is_never, NULL);
                const char *warning = strstr(f.log, "cannot use the policy object");
                if (!api_logged(&f, rows[i].cleaned) || !warning != !rows[i].warns ||
                    (warning && !strstr(warning, rows[i].warns)))
                        fail_msg("row %zu: %s", i, f.log);
                assert_int_equal(cleanup_exit_code(cleanup), 0);
                end(&f, cleanup);
        }
}

/* What a dry run prints of a node: all that is ours. */
TEST(dry_run) {
        static const char node[] =
                "{\"metadata\":{\"name\":\"a\",\"annotations\":{" HOT "}},"
                "\"spec\":{\"taints\":[{\"key\":\"load.plimsoll.io/1\",\"effect\":"
                "\"PreferNoSchedule\"}]},\"status\":{\"capacity\":{\"" KUBE_IDLE_RESOURCE "\":"
                "\"2k\"},\"allocatable\":{\"" KUBE_IDLE_RESOURCE "\":\"2k\"}}}";
        struct api_fixture f = {0};
        char text[256] = "";

        api_answer(&f, 404, "{}", LEASE, NULL);
        _cleanup_(freep) char *list = xasprintf(LIST("", "%s"), node);
        api_answer(&f, 200, list, NODES, NULL);
        struct cleanup *cleanup = begin(&f, &(struct cleanup_options){.is_dry_run = true});
        int out_fd = memfd_create("out", MFD_CLOEXEC), old_fd = dup(STDOUT_FILENO);
        (void)fflush(stdout);
        assert_true(dup2(out_fd, STDOUT_FILENO) >= 0);
        api_run(&f, api_is_never, NULL);
        (void)fflush(stdout);
        assert_true(dup2(old_fd, STDOUT_FILENO) >= 0);
        assert_true(pread(out_fd, text, sizeof(text) - 1, 0) > 0);
        assert_string_equal(text, "a node_hot_value,load.plimsoll.io/1," KUBE_IDLE_RESOURCE "\n");
        (void)close(old_fd);
        (void)close(out_fd);
        end(&f, cleanup);
}

/* What is ours by its manager may have any name, and be longer than a patch. */
TEST(too_long_for_a_patch) {
        struct api_fixture f = {0};
        char key[(64 << 10) + 1] = {0};

        memset(key, 'k', sizeof(key) - 1);
        _cleanup_(freep) char *list = xasprintf(
                LIST("", NODE("a", HOT) ",{\"metadata\":{\"name\":\"b\",\"annotations\":{\"%s\":"
                                        "\"1\"},\"managedFields\":[{\"manager\":\"plimsoll-"
                                        "controller\",\"fieldsV1\":{\"f:metadata\":{"
                                        "\"f:annotations\":{\"f:%s\":{}}}}}]}}"),
                key, key);
        api_answer(&f, 404, "{}", LEASE, NULL);
        api_answer(&f, 200, list, NODES, NULL);
        api_answer(&f, 200, "{}", PATCH_OF("a"), HOT_REMOVED);
        api_answer_usually(&f, 200, "", WATCH);
        struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
        api_run(&f, api_is_never, NULL);
        assert_int_equal(api_logged(&f, "msg=\"node has too many annotations for one patch\" "
                                        "node=b"),
                         1);
        assert_int_equal(api_logged(&f, "nodes=2 cleaned=1 failed=1"), 1);
        assert_int_equal(cleanup_exit_code(cleanup), 1);
        end(&f, cleanup);
}

/* A list that is begun again, before and after its end, makes no second patch of any node. */
TEST(listed_again) {
        struct api_fixture f = {.pace_ms = 100};

        api_answer(&f, 404, "{}", LEASE, NULL);
        api_answer(&f, 200, LIST(",\"continue\":\"more\"", NODE("a", HOT)), NODES, NULL);
        api_answer(&f, 410, "{}", "continue=more", NULL);
        api_answer(&f, 200, LIST("", NODE("a", HOT) "," NODE("b", HOT) "," NODE("c", "")), ANEW,
                   NULL);
        api_answer(&f, 200, "{}", PATCH_OF("a"), HOT_REMOVED);
        api_answer(&f, 200, LIST("", NODE("a", HOT) "," NODE("b", HOT) "," NODE("d", HOT)), ANEW,
                   NULL);
        api_answer(&f, 200, "{}", PATCH_OF("b"), HOT_REMOVED);
        api_answer_usually(&f, 200, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n", WATCH);
        api_answer_usually(&f, 200, LIST("", NODE("b", HOT)), ANEW);
        struct cleanup *cleanup = begin(&f, &(struct cleanup_options){.patches_per_s = 0.02});
        api_run(&f, api_is_never, NULL);
        assert_int_equal(api_logged(&f, "msg=\"all nodes are clean\" nodes=3 cleaned=2 "
                                        "had_none=1"),
                         1);
        assert_int_equal(cleanup_exit_code(cleanup), 0);
        end(&f, cleanup);
}

static void pass_20_s(void *userdata) {
        later_ms += 20000;
}

/* A list may take longer than half a minute, as long as it makes progress. */
TEST(slow_list) {
        static const char *const pages[] = {NODES, "continue=1 ", "continue=2 "};
        struct api_fixture f = {0};

        api_answer(&f, 404, "{}", LEASE, NULL);
        for (int i = 0; i < 3; i++) {
                _cleanup_(freep) char *page = xasprintf(
                        LIST(",\"continue\":\"%d\"", NODE("n%d", "")), i + 1, i);
                api_answer(&f, 200, page, pages[i], NULL);
                f.rig.server.script[i + 1].before = pass_20_s;
        }
        api_answer(&f, 200, LIST("", NODE("last", "")), "continue=3 ", NULL);
        struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
        api_run(&f, api_is_never, NULL);
        assert_int_equal(api_logged(&f, "msg=\"all nodes are clean\" nodes=4"), 1);
        assert_true(api_passed_ms(&f) >= 60000);
        end(&f, cleanup);
}

/* Annotations, taints and the offer, each by a patch of its own. */
TEST(all_stages) {
        static const char node[] =
                "{\"metadata\":{\"name\":\"a\",\"annotations\":{" HOT "}},\"spec\":{\"taints\":["
                "{\"key\":\"load.plimsoll.io/1\",\"effect\":\"PreferNoSchedule\"}]},"
                "\"status\":{\"capacity\":{\"" KUBE_IDLE_RESOURCE "\":\"2k\"},"
                "\"allocatable\":{\"" KUBE_IDLE_RESOURCE "\":\"2k\"}}}";
        static const char only_offer[] =
                "{\"metadata\":{\"name\":\"b\"},\"status\":{\"allocatable\":{\"" KUBE_IDLE_RESOURCE
                "\":\"odd\"}}}";
        static const char offer_removed[] = "{\"status\":{\"capacity\":{\"" KUBE_IDLE_RESOURCE
                                            "\":null},\"allocatable\":{\"" KUBE_IDLE_RESOURCE
                                            "\":null}}}";
        static const int statuses[] = {200, 403};

        for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
                struct api_fixture f = {0};
                _cleanup_(freep) char *list = xasprintf(LIST("", "%s,%s"), node, only_offer);
                api_answer(&f, 404, "{}", LEASE, NULL);
                api_answer(&f, 200, list, NODES, NULL);
                api_answer(&f, 200, "{}", PATCH_OF("a"), HOT_REMOVED);
                api_answer(&f, statuses[i], "{}", "nodes/b/status?", offer_removed);
                api_answer(&f, 200, "{}", PATCH_OF("a"), "\"op\":\"remove\"");
                api_answer(&f, statuses[i], "{}", "nodes/a/status?", offer_removed);
                api_answer_usually(&f, 200, "", WATCH);
                struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
                api_run(&f, api_is_never, NULL);
                assert_int_equal(atomic_load(&f.rig.server.surprises), 0);
                assert_int_equal(cleanup_exit_code(cleanup), statuses[i] != 200);
                assert_int_equal(api_logged(&f, "msg=\"the account lacks a right\" verb=patch "
                                                "resource=nodes/status"),
                                 statuses[i] == 403);
                end(&f, cleanup);
        }
}

/* Half a minute is left for the list, whatever comes before it. */
TEST(deadline) {
        static const struct {
                const char *headers; /* of the answer that never becomes a good one */
                const char *path, *told;
        } rows[] = {
                {"", NODES, "msg=\"cannot list nodes\" trouble=\"list: 500"},
                {"Retry-After: 60\r\n", LEASE, "msg=\"cannot list nodes\" trouble=\"\""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct api_fixture f = {.pace_ms = 100};
                scripted_add_usual(&f.rig.server,
                                   (struct scripted_reply){
                                           .expect = {rows[i].path},
                                           .response = scripted_http(500, rows[i].headers, "{}")});
                api_answer_usually(&f, 404, "{}", LEASE);
                struct cleanup *cleanup = begin(&f, &(struct cleanup_options){0});
                api_run(&f, api_is_never, NULL);
                assert_in_range(api_passed_ms(&f), 29000, 40000);
                if (!api_logged(&f, rows[i].told))
                        fail_msg("row %zu: %s", i, f.log);
                assert_int_equal(cleanup_exit_code(cleanup), 1);
                end(&f, cleanup);
        }
}
