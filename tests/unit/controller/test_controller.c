/* The control loop where there is nothing to do, or nothing comes. Linked with
 * --wrap=clock_gettime. */
#include "tests/unit/fixture/policy.h"

#include "tests/unit/fixture/api_fixture.h"

#include "controller/controller.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scrape_kinds.h"
#include "tests/unit/fixture/constant_source.h"

#define NODES "GET /api/v1/nodes?"
#define PODS "GET /api/v1/pods?"
#define PATCH "PATCH /api/v1/nodes/"

#define POLICY "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
#define MEMORY                                                                                     \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"
#define HOT "  hotValue: [{timeRange: 5m, count: 5}]\n"

struct fixture {
        struct api_fixture api;
        struct controller *controller;
        struct daemon daemon;
        struct policy_source *policy;
        const struct source_list *sources; /* NULL: exporters are scraped */
        const struct source_kind *behind;  /* them; NULL: none is */
        struct source_list list;
        char *url, *address; /* of the exporters, and of the server */
        bool is_elected;
};

static void begin(struct fixture *f, struct policy *policy, const char *target, bool is_once) {
        struct policy *built_in = NULL;
        struct error err = ERROR_NULL;

        api_start(&f->api);
        f->url = xasprintf("http://127.0.0.1:%u/{node}", f->api.rig.server.port);
        f->address = xasprintf("http://127.0.0.1:%u", f->api.rig.server.port);
        f->list = (struct source_list){
                .specs = {{.kind = &node_exporter_kind,
                           .name = "node-exporter",
                           .url = f->url,
                           .traits = {.interval_ms = 15000}},
                          {.kind = f->behind,
                           .name = "behind",
                           .url = f->address,
                           .traits = {.interval_ms = CONSTANT_INTERVAL_MS}}},
                .count = f->behind ? 2 : 1,
                .ordered_count = f->behind ? 2 : 1,
        };
        const struct controller_options options = {
                .compiled = {.style = {.prefix = ""}},
                .sources = f->sources ? f->sources : &f->list,
                .nodes = {.address_types = {"InternalIP"}, .address_type_count = 1},
                .node_selector = target ? NULL : "pool=none",
                .targets = {.items = &target, .count = target ? 1 : 0},
                .writing = {.patches_per_s = 10,
                            .is_dry_run = target != NULL || is_once,
                            .is_elected = f->is_elected,
                            .lease = {.namespace = "n",
                                      .name = "l",
                                      .timing = LEASE_TIMING_DEFAULT}},
                .is_once = is_once,
        };

        f->daemon = f->api.daemon;
        if (target)
                f->daemon.api = NULL;
        if (policy_source_new(&(struct policy_source_options){.loop = f->api.rig.loop,
                                                              .metrics = f->api.rig.metrics,
                                                              .health = f->api.health},
                              &f->policy, &built_in, &err) < 0)
                fail_msg("%s", err.msg);
        policy_free(built_in);
        if (controller_new(&(struct controller_parts){&f->daemon, f->api.rig.client, f->policy},
                           &options, policy, &f->controller, &err) < 0)
                fail_msg("%s", err.msg);
}

static void end(struct fixture *f) {
        controller_free(f->controller);
        policy_source_free(f->policy);
        free(f->url);
        free(f->address);
        api_stop(&f->api);
}

TEST(once_without_nodes) {
        _cleanup_(end) struct fixture f = {0};

        api_answer(&f.api, 200,
                   "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}",
                   NODES, "labelSelector=pool%3Dnone");
        api_answer_usually(&f.api, 200, "", "watch=1");
        begin(&f, policy_of(POLICY), NULL, true);
        api_run(&f.api, api_is_never, NULL);
        assert_int_equal(api_logged(&f.api, "msg=\"no nodes found\" selector=\"pool=none\""), 1);
        assert_int_equal(controller_exit_code(f.controller), 1);
}

/* Half a minute without progress. */
TEST(once_timed_out) {
        for (int has_hot = 0; has_hot < 2; has_hot++) {
                _cleanup_(end) struct fixture f = {.api.pace_ms = 200};
                api_answer_usually(&f.api, 500, "{\"message\":\"not today\"}", NODES);
                api_answer_usually(&f.api, 403, "{\"message\":\"not you\"}", PODS);
                begin(&f, policy_of(has_hot ? POLICY HOT : POLICY), NULL, true);
                api_run(&f.api, api_is_never, NULL);
                assert_in_range(api_passed_ms(&f.api), 30000, 40000);
                const char *told = strstr(f.api.log, "msg=\"--once timed out\" nodes=0");
                assert_non_null(told);
                assert_non_null(strstr(told, "node_watch=\"list: 500 not today\""));
                assert_non_null(strstr(told, has_hot ? "binding_watch=\"list: 403 not you\""
                                                     : "binding_watch=\"\""));
                assert_int_equal(controller_exit_code(f.controller), 1);
        }
}

/* @names: with blanks between them */
static void answer_nodes(struct fixture *f, const char *names) {
        _cleanup_(buf_done) struct buf list = BUF_INIT(64 << 10);
        _cleanup_(freep) char *text = xmemdup0(names, strlen(names));
        const char *separator = "";
        char *rest = text, *name;

        buf_puts(&list,
                 "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
        for (; (name = strsep(&rest, " ")); separator = ",")
                buf_printf(&list, "%s{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\"}}", separator,
                           name, name);
        buf_puts(&list, "]}");
        scripted_add_usual(
                &f->api.rig.server,
                (struct scripted_reply){.expect = {"watch=true"}, .response = scripted_stream("")});
        api_answer_usually(&f->api, 200, list.data, NODES);
}

#define MEMORY_PAGE "node_memory_MemAvailable_bytes 6e9\nnode_memory_MemTotal_bytes 8e9\n"
#define CPU_PAGE                                                                                   \
        "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5\n"                                      \
        "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 5\n"

static void pass_4_s(void *userdata) {
        later_ms += 4000; /* less than a reading of the nodes before may take */
}

/* A list may take longer than all that follows, as long as it makes progress. */
TEST(once_with_a_slow_list) {
        enum { PAGES = 12 };
        _cleanup_(end) struct fixture f = {.api.pace_ms = 10};

        for (int i = 0; i < PAGES; i++) {
                _cleanup_(freep) char *page = xasprintf(
                        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1\","
                        "\"continue\":"
                        "\"%s\"},\"items\":[{\"metadata\":{\"name\":\"n%d\"}}]}",
                        i < PAGES - 1 ? "more" : "", i);
                api_answer(&f.api, 200, page, NODES, i > 0 ? "continue=more" : NULL);
                f.api.rig.server.script[i].before = pass_4_s;
        }
        scripted_add_usual(&f.api.rig.server,
                           (struct scripted_reply){.expect = {"watch=1"},
                                                   .response = scripted_stream(""),
                                                   .holds = true});
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        api_answer_usually(&f.api, 200, "{\"metadata\":{}}", PATCH);
        begin(&f, policy_of(MEMORY), NULL, true);
        api_run(&f.api, api_is_never, NULL);
        assert_int_equal(controller_exit_code(f.controller), 0);
        assert_int_equal(api_logged(&f.api, "timed out"), 0);
}

/* Nodes that are read do not make up for bindings that are not listed. */
TEST(once_without_bindings) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200};

        answer_nodes(&f, "a");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        api_answer_usually(&f.api, 403, "{\"message\":\"not you\"}", PODS);
        begin(&f, policy_of(MEMORY HOT), NULL, true);
        api_run(&f.api, api_is_never, NULL);
        assert_in_range(api_passed_ms(&f.api), 30000, 40000);
        const char *told = strstr(f.api.log, "msg=\"--once timed out\" nodes=1 nodes_missing=0");
        assert_non_null(told);
        assert_non_null(strstr(told, "binding_watch=\"list: 403 not you\""));
        assert_int_equal(controller_exit_code(f.controller), 1);
}

/* A page that stands still is no second reading. */
TEST(once_with_a_page_that_stands_still) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200};

        answer_nodes(&f, "still well");
        api_answer_usually(&f.api, 200, CPU_PAGE, "GET /still");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "GET /well");
        begin(&f, policy_of(MEMORY), NULL, true);
        api_run(&f.api, api_is_never, NULL);
        const char *told = strstr(f.api.log, "msg=\"nodes could not be read\" nodes=1");
        assert_non_null(told);
        assert_non_null(strstr(told, "node=still"));
        assert_int_equal(controller_exit_code(f.controller), 1);
}

/* Anybody who ends it is not told that all went well. */
TEST(once_stopped) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200};

        answer_nodes(&f, "a b");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        begin(&f, policy_of(MEMORY), NULL, true);
        controller_shut_down(f.controller);
        api_run(&f.api, api_is_never, NULL);
        assert_int_equal(controller_exit_code(f.controller), 1);
}

static bool has_status(struct fixture *f, const char *text) {
        struct buf status = BUF_INIT(1 << 20);

        controller_write_status(f->controller, &status);
        bool is_there = strstr(status.data, text);
        buf_done(&status);
        return is_there;
}

static bool is_three_minutes_later(void *userdata) {
        return api_passed_ms(&((struct fixture *)userdata)->api) > 180000;
}

static double stale_nodes(const struct fixture *f) {
        return metrics_value(metrics_gauge(f->api.rig.metrics, "plimsoll_nodes_stale", "", NULL));
}

/* Nothing is asked of nodes of which the policy wants nothing. */
TEST(no_metrics) {

        for (int is_once = 0; is_once < 2; is_once++) {
                _cleanup_(end) struct fixture f = {.api.pace_ms = 200};
                answer_nodes(&f, "a b");
                begin(&f, policy_of("  syncPolicy: []\n"), NULL, is_once);
                api_run(&f.api, is_once ? api_is_never : is_three_minutes_later, &f);
                assert_true(has_status(&f, "the policy has no metrics"));
                assert_true(stale_nodes(&f) == 0);
                assert_int_equal(controller_exit_code(f.controller), 0);
        }
}

/* While exporters serve all nodes, the Prometheus behind them is asked nothing. */
TEST(a_source_that_nobody_needs) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200, .behind = &prometheus_kind};

        answer_nodes(&f, "a b");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        api_answer_usually(&f.api, 200, "{\"metadata\":{}}", PATCH);
        begin(&f, policy_of(MEMORY), NULL, false);
        api_run(&f.api, is_three_minutes_later, &f); /* a query would be no expected request */
        assert_true(has_status(&f, "\"source\":\"node-exporter\""));
}

/* Who waits for the Lease writes nothing, and says so. */
TEST(standby) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200, .is_elected = true};

        answer_nodes(&f, "a");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        api_answer_usually(&f.api, 500, "{}", "/leases");
        begin(&f, policy_of(MEMORY), NULL, false);
        for (int i = 0; i < 20; i++)
                api_wait_ms(&f.api, 15000);
        assert_true(has_status(&f, "\"role\":\"standby\""));
}

/* A second signal does not put off the end. */
TEST(shut_down_twice) {
        enum { SHUTDOWN_MS = 5000 };
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200};

        answer_nodes(&f, "a");
        api_answer_usually(&f.api, 200, MEMORY_PAGE, "collect");
        scripted_add(
                &f.api.rig.server,
                (struct scripted_reply){.expect = {PATCH}, .response = xstrdup(""), .holds = true});
        begin(&f, policy_of(MEMORY), NULL, false);
        api_run(&f.api, api_is_served, &f.api);
        int64_t begun_ms = api_passed_ms(&f.api);
        controller_shut_down(f.controller);
        api_wait_ms(&f.api, SHUTDOWN_MS - 2000);
        controller_shut_down(f.controller);
        api_run(&f.api, api_is_never, NULL);
        assert_in_range(api_passed_ms(&f.api) - begun_ms, SHUTDOWN_MS, SHUTDOWN_MS + 1500);
        assert_int_equal(api_logged(&f.api, "shutdown timed out, abandoning requests"), 1);
        assert_int_equal(controller_exit_code(f.controller), 0);
}

/* Of nodes that are read from another source together, some lines are logged, and how many more. */
TEST(many_nodes_switch) {
        enum { NODES_COUNT = 12, LINES = 10 };
        struct source_kind measured = constant_kind;
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200, .behind = &measured};
        _cleanup_(freep) char *rest = xasprintf("in the last minute\" nodes=%d\n",
                                                NODES_COUNT - LINES);

        measured.measure = "what is always so";
        answer_nodes(&f, "a b c d e f g h i j k l");
        api_answer_usually(&f.api, 500, "", "collect");
        api_answer_usually(&f.api, 200, "{\"metadata\":{}}", PATCH);
        begin(&f, policy_of(MEMORY), NULL, false);
        api_run(&f.api, is_three_minutes_later, &f);
        assert_int_equal(api_logged(&f.api, "msg=\"node switched to another source\""), LINES);
        assert_int_equal(api_logged(&f.api, "measures differently from node_exporter"), 1);
        assert_int_equal(api_logged(&f.api, rest), 1);
}

static double failing(const struct fixture *f) {
        return metrics_value(metrics_gauge(f->api.rig.metrics, "plimsoll_targets_failing", "",
                                           LABELS("source", "node-exporter")));
}

static bool are_all_failing(void *userdata) {
        return failing(userdata) >= 2;
}

static bool is_none_failing(void *userdata) {
        return failing(userdata) <= 0;
}

/* Nodes that a policy does not need read are not failing, and are logged again afterwards. */
TEST(failing_nodes) {
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200};

        answer_nodes(&f, "a b");
        api_answer_usually(&f.api, 500, "", "collect");
        begin(&f, policy_of(MEMORY), NULL, false);
        api_run(&f.api, are_all_failing, &f);
        controller_set_policy(f.controller, policy_of("  syncPolicy: []\n"));
        api_run(&f.api, is_none_failing, &f);
        controller_set_policy(f.controller, policy_of(MEMORY));
        api_run(&f.api, is_three_minutes_later, &f);
#define IS_FAILING "msg=\"node is failing\" what=node-exporter node="
        assert_int_equal(api_logged(&f.api, IS_FAILING "a url="), 1);
        assert_int_equal(api_logged(&f.api, IS_FAILING "b url="), 1);
}

/* A source needs its folder, here a header, and its row: what it says is written. */
TEST(a_new_kind_of_source) {
        static const struct source_kind *const kinds[] = {&constant_kind, NULL};
        _cleanup_(source_list_freep) struct source_list *sources = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(source_list_order("constant", kinds, &sources, &err), 0);
        _cleanup_(end) struct fixture f = {.api.pace_ms = 200, .sources = sources};
        answer_nodes(&f, "a b");
        for (size_t i = 0; i < 2; i++)
                api_answer(&f.api, 200, "{\"metadata\":{}}", PATCH,
                           "mem_usage_avg_5m\":\"0.25000,");
        begin(&f, policy_of(MEMORY), NULL, false);
        api_run(&f.api, api_is_served, &f.api);
        assert_true(has_status(&f, "\"name\":\"constant\",\"isUsed\":true"));
}

static bool follow_gpu_policy(void *userdata) {
        controller_set_policy(((struct fixture *)userdata)->controller,
                              policy_of("  metrics: [{name: gpu, exporter: dcgm, series: x, kind: "
                                        "gauge, capacity: 1}]\n"));
        return true;
}

/* A dry run of targets, with nothing of a cluster, and with no page of its own. */
TEST(dry_run) {
        _cleanup_(end) struct fixture f = {0};
        _cleanup_(buf_done) struct buf status = BUF_INIT(1 << 20);

        begin(&f, policy_of(POLICY), "a=http://127.0.0.1:1/", false);
        api_run(&f.api, follow_gpu_policy, &f);
        assert_int_equal(api_logged(&f.api,
                                    "msg=\"policy metric has no source: no exporter of that "
                                    "name\" metric=gpu exporter=dcgm"),
                         1);
        controller_set_policy(f.controller, policy_default());
        controller_write_status(f.controller, &status);
        assert_non_null(strstr(status.data, "\"role\":\"dry run\""));
        assert_non_null(strstr(status.data, "cpu_usage_max_avg_1h"));
        controller_shut_down(f.controller);
        api_run(&f.api, api_is_never, NULL);
        assert_int_equal(controller_exit_code(f.controller), 0);
}
