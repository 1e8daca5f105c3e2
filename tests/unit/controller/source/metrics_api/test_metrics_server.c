/* What metrics-server knows of nodes, and of pods, round by round. Linked with
 * --wrap=clock_gettime. */
#include "tests/unit/fixture/policy.h"

#include "tests/unit/fixture/api_fixture.h"

#include <time.h>

#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/metrics_api/pod_metrics.h"
#include "tests/unit/fixture/noting_sink.h"

enum { INTERVAL_MS = 15000 };

#define CPU(value) "{\"cpu\":\"" value "\"}"
#define MEMORY(value) "{\"memory\":\"" value "\"}"

static struct node a = {
        .name = (char[]){"a"}, .allocatable_cpu_cores = 4, .allocatable_memory_bytes = 8e9};
static struct node b = {.name = (char[]){"b"}, .allocatable_memory_bytes = 8e9};
static struct node empty = {.name = (char[]){"empty"}, .allocatable_cpu_cores = 4};
static struct node unlisted = {.name = (char[]){"unlisted"}, .allocatable_cpu_cores = 4};
static struct node unsized = {.name = (char[]){"unsized"}};

struct fixture {
        struct api_fixture api;
        struct source *source;
        struct buf log;
};

static struct source_spec spec = {.kind = &metrics_server_kind, .name = "metrics-server"};

static void begin(struct fixture *f) {
        f->log = BUF_INIT(1 << 12);
        api_start(&f->api);
        spec.traits = metrics_server_kind.traits;
        spec.traits.interval_ms = INTERVAL_MS;
        f->source = spec.kind->new (&(struct source){.spec = &spec,
                                                     .loop = f->api.rig.loop,
                                                     .api = f->api.rig.api,
                                                     .metrics = f->api.rig.metrics,
                                                     .sink = noting_sink(&f->log)});
}

static void end(struct fixture *f) {
        spec.kind->free(f->source);
        api_stop(&f->api);
        buf_done(&f->log);
}

/* With samples of now. */
static void add_item(struct buf *list, const char *name, const char *usage) {
        time_t now_s = (time_t)(clock_wall_unix_ms() / 1000);
        struct tm parts;
        char when[32];

        assert_true(strftime(when, sizeof(when), "%FT%TZ", gmtime_r(&now_s, &parts)) > 0);
        (void)buf_printf(list,
                         "%s{\"metadata\":{\"name\":\"%s\"},\"timestamp\":\"%s\",\"window\":"
                         "\"15s\",\"usage\":%s}",
                         list->len > 0 ? "," : "", name, when, usage);
}

static void answer_list(struct fixture *f, const struct buf *items) {
        _cleanup_(freep) char *list = xasprintf(
                "{\"kind\":\"NodeMetricsList\",\"metadata\":{},\"items\":[%s]}", items->data);

        api_answer(&f->api, 200, list, "GET /apis/metrics.k8s.io/v1beta1/nodes ", NULL);
}

static double items(struct fixture *f, const char *result) {
        return metrics_value(metrics_counter(f->api.rig.metrics,
                                             "plimsoll_metrics_server_items_total", "",
                                             LABELS("result", result)));
}

/* How often the log of a round has @text; the log is emptied by the next wait. */
static size_t said(const struct fixture *f, const char *text) {
        size_t count = 0;

        for (const char *at = f->log.data; (at = strstr(at, text)) != NULL; at++)
                count++;
        return count;
}

static void wait_ms(struct fixture *f, int64_t ms) {
        buf_clear(&f->log);
        (void)buf_puts(&f->log, "");
        api_wait_ms(&f->api, ms);
        api_run_quiet(&f->api);
}

TEST(rounds) {
        struct fixture f = {0};
        struct buf list = BUF_INIT(1 << 12);
        struct node *const nodes[] = {&a, &empty, &unlisted, &unsized};

        add_item(&list, "a", CPU("1"));
        add_item(&list, "b", MEMORY("2G"));
        add_item(&list, "empty", "{}");
        add_item(&list, "unsized", CPU("1"));
        for (int round = 0; round < 4; round++)
                answer_list(&f, &list);
        begin(&f);
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
                f.source->spec->kind->add_node(f.source, nodes[i]);
        wait_ms(&f, 1000);
        assert_int_equal(said(&f, ";"), 4);
        assert_int_equal(said(&f, "+a cpu 0.25;"), 1);
        assert_int_equal(said(&f, "-empty malformed;"), 1);
        assert_int_equal(said(&f, "-unlisted no_data;"), 1);
        assert_int_equal(said(&f, "-unsized no_allocatable;"), 1);
        assert_true(items(&f, "new") == 2 && items(&f, "repeated") == 0 &&
                    items(&f, "unknown_node") == 1);

        /* Who comes later waits for the round, and once is enough. A sample may be repeated. */
        f.source->spec->kind->add_node(f.source, &b);
        f.source->spec->kind->add_node(f.source, &b);
        f.source->spec->kind->remove_node(f.source, &unlisted);
        f.source->spec->kind->remove_node(f.source, &a);
        wait_ms(&f, INTERVAL_MS - 3000);
        assert_int_equal(said(&f, ";"), 0);
        wait_ms(&f, 3000);
        assert_int_equal(said(&f, ";"), 3);
        assert_int_equal(said(&f, "+b mem 0.25;"), 1);
        assert_true(items(&f, "new") == 3 && items(&f, "repeated") == 1);

        /* While no node needs it, nothing is asked, and nothing fails. */
        is_unneeded = true;
        wait_ms(&f, INTERVAL_MS);
        assert_int_equal(said(&f, ";"), 0);
        is_unneeded = false;
        wait_ms(&f, INTERVAL_MS);
        assert_int_equal(said(&f, ";"), 3);

        /* The server answers, and has measured nothing for minutes. */
        wait_ms(&f, 3 * MS_PER_MIN);
        assert_int_equal(said(&f, "-b stale;"), 1);
        buf_done(&list);
        end(&f);
}

static bool is_list_needed(void *userdata) {
        return true;
}

static bool is_last_taken(void *userdata) {
        return pod_set_find(userdata, 3)->page.cores > 0;
}

/* What is only half known of a pod is not taken; a list that fails is told once, and so is its end.
 */
TEST(pods) {
        static const char *const names[] = {"half", "other-half", "none", "whole"};
        _cleanup_(pod_set_freep) struct pod_set *set = pod_set_new();
        struct api_fixture api = {.pace_ms = 100};
        struct buf list = BUF_INIT(1 << 12);

        set->read_ms = INTERVAL_MS;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                pod_set_events.pod(set,
                                   &(struct pod_facts){.id = i,
                                                       .namespace = {"n", 1},
                                                       .node = {"a", 1},
                                                       .name = {names[i], strlen(names[i])},
                                                       .idle_cores = 1},
                                   false);
        add_item(&list, "n/half", CPU("1"));
        add_item(&list, "n/other-half", MEMORY("1G"));
        add_item(&list, "n/none", "{}");
        add_item(&list, "n/whole", "{\"cpu\":\"2\",\"memory\":\"1G\"}");
        _cleanup_(freep) char *text = xasprintf("{\"kind\":\"PodMetricsList\",\"items\":[%s]}",
                                                list.data);
#define LIST "GET /apis/metrics.k8s.io/v1beta1/pods "
        api_answer(&api, 200, "{\"items\":7}", LIST, NULL);
        api_answer(&api, 403, "{\"message\":\"no\"}", LIST, NULL);
        api_answer(&api, 200, text, LIST, NULL);
        api_start(&api);
        _cleanup_(pod_metrics_freep) struct pod_metrics *metrics = pod_metrics_new(
                api.rig.loop, api.rig.api, set, is_list_needed, NULL);
        api_run(&api, is_last_taken, set);
        assert_int_equal(api_logged(&api, "msg=\"cannot list pod metrics\""), 1);
        assert_int_equal(api_logged(&api, "reason=bad_answer"), 1);
        assert_int_equal(api_logged(&api, "msg=\"listing pod metrics succeeds again\""), 1);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                assert_float_equal(pod_set_find(set, i)->page.cores, i == 3 ? 2 : 0, 1e-6);
        pod_metrics_free(TAKE_PTR(metrics));
        api_stop(&api);
        buf_done(&list);
}
