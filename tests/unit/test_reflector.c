/* List and watch against a server that answers from a script. */
#include "cmocka_wrap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/binding_watch.h"
#include "kube/reflector.h"
#include "kube/watch_stream.h"
#include "scripted_server.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 3 };

struct fixture {
        struct scripted_server server;
        struct loop *loop;
        struct http_client *client;
        struct kube_config *config;
        struct metrics *metrics;
        struct kube_api *api;
        struct reflector *reflector;
        struct loop_timer look;
        int64_t deadline_mono_ms;
        struct buf log;
        const char *wanted_log;     /* NULL: whatever */
        const char *wanted_trouble; /* a part of it; NULL: none may be left */
};

#define OBJECT(name, version)                                                                      \
        "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                                   \
        "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"
#define BOOKMARK(version)                                                                          \
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}"  \
        "\n"
#define EXPIRED                                                                                    \
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"                        \
        "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n"
#define LIST(version, next, items)                                                                 \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version                      \
        "\",\"continue\":\"" next "\"},\"items\":[" items "]}"

static void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        struct fixture *f = userdata;
        const char *name = json_string_at(object, "metadata", "name", NULL);
        const char *uid = json_string_at(object, "metadata", "uid", NULL);

        assert_non_null(name);
        (void)buf_printf(&f->log, "%c %s", event == REFLECTOR_PRESENT ? '+' : '-', name);
        /* only where it is not the usual one */
        if (uid && (strncmp(uid, "u-", 2) != 0 || strcmp(uid + 2, name) != 0))
                (void)buf_printf(&f->log, "/%s", uid);
        (void)buf_putc(&f->log, ';');
}

static void on_synced(void *userdata, size_t count) {
        struct fixture *f = userdata;

        assert_true(!f->reflector || reflector_is_synced(f->reflector));
        (void)buf_printf(&f->log, "=%zu;", count);
}

/* Done when the script has been used up and the log says what it should; late after DEADLINE_MS. */
static void on_look(void *userdata) {
        struct fixture *f = userdata;
        const char *trouble = f->reflector ? reflector_trouble(f->reflector) : "";
        bool is_done =
                atomic_load(&f->server.served) == f->server.count &&
                (!f->wanted_log || strcmp(f->log.data ? f->log.data : "", f->wanted_log) == 0) &&
                (f->wanted_trouble ? strstr(trouble, f->wanted_trouble) != NULL : *trouble == '\0');

        if (is_done || clock_mono_ms() > f->deadline_mono_ms ||
            atomic_load(&f->server.surprises) > 0)
                loop_stop(f->loop);
        else
                loop_timer_arm(f->loop, &f->look, clock_mono_ms() + LOOK_MS, on_look, f);
}

static void start(struct fixture *f) {
        struct error err = ERROR_NULL;
        char master[64];

        f->log = BUF_INIT(1 << 20);
        (void)buf_puts(&f->log, "");
        scripted_server_start(&f->server);
        (void)snprintf(master, sizeof(master), "http://127.0.0.1:%u", f->server.port);
        if (kube_config_load(&(struct kube_config_options){.master = master}, &f->config, &err) < 0)
                fail_msg("%s", err.msg);
        f->loop = loop_new();
        f->metrics = metrics_new();
        f->client = http_client_new(f->loop, &(struct http_client_options){.user_agent = "test/1"});
        f->api = kube_api_new(f->loop, f->client, f->config, f->metrics);
        f->deadline_mono_ms = clock_mono_ms() + DEADLINE_MS;
}

static void run(struct fixture *f) {
        loop_timer_arm(f->loop, &f->look, clock_mono_ms(), on_look, f);
        loop_run(f->loop);
        if (atomic_load(&f->server.surprises) > 0)
                fail_msg("the server did not expect, at step %zu: %s",
                         atomic_load(&f->server.served), f->server.surprise);
        if (clock_mono_ms() > f->deadline_mono_ms)
                fail_msg("late: %zu of %zu steps; log '%s', wanted '%s'; trouble '%s'",
                         atomic_load(&f->server.served), f->server.count, f->log.data,
                         f->wanted_log, f->reflector ? reflector_trouble(f->reflector) : "");
}

static void stop(struct fixture *f) {
        loop_timer_disarm(f->loop, &f->look);
        reflector_free(f->reflector);
        kube_api_free(f->api);
        http_client_free(f->client);
        metrics_free(f->metrics);
        kube_config_free(f->config);
        loop_free(f->loop);
        scripted_server_stop(&f->server);
        buf_done(&f->log);
}

static void reflect(struct fixture *f, const struct reflector_spec *wish) {
        struct reflector_spec spec = *wish;

        start(f);
        spec.name = "nodes";
        spec.path = "/api/v1/nodes";
        spec.on_event = on_event;
        spec.on_synced = on_synced;
        spec.first_pause_ms = 2;
        spec.userdata = f;
        f->reflector = reflector_new(f->loop, f->api, f->metrics, &spec);
        run(f);
}

static double restarts(struct fixture *f, const char *reason) {
        return metric_value(metrics_counter(f->metrics, "plimsoll_watch_restarts_total", "",
                                            LABELS("resource", "nodes", "reason", reason)));
}

static void list(struct fixture *f, const char *body) {
        scripted_add(&f->server, (struct scripted_reply){.expect = {"GET /api/v1/nodes?limit="},
                                                         .response = scripted_http(200, "", body)});
}

/* The last step: a watch from @version that stays open. */
static void hold(struct fixture *f, const char *version) {
        static char expect[8][64];
        static size_t next;
        char *text = expect[next++ % 8];

        (void)snprintf(text, sizeof(expect[0]), "watch=1&resourceVersion=%s&", version);
        scripted_add(&f->server, (struct scripted_reply){.expect = {text},
                                                         .response = scripted_stream(""),
                                                         .holds = true});
}

static void test_pages_then_events(void **state) {
        struct fixture f = {
                .wanted_log = "+ a;+ b;=2;+ c;+ a;- b;",
        };

        (void)state;
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?labelSelector=role%3Dworker&limit=500 ",
                                        "\r\nAccept: application/json;as=PartialObjectMetadataList",
                                        "\r\nAccept-Encoding: gzip\r\n"},
                             .response = scripted_http(200, "",
                                                       LIST("10", "to/ken", OBJECT("a", "1")))});
        scripted_add(
                &f.server,
                (struct scripted_reply){
                        .expect = {"?labelSelector=role%3Dworker&limit=500&continue=to%2Fken "},
                        .response = scripted_http(200, "", LIST("10", "", OBJECT("b", "2")))});
        scripted_add(
                &f.server,
                (struct scripted_reply){
                        .expect = {"GET /api/v1/nodes?labelSelector=role%3Dworker&watch=1"
                                   "&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=",
                                   "\r\nAccept: application/json;as=PartialObjectMetadata;"},
                        .response = scripted_stream(EVENT("ADDED", "c", "11") EVENT(
                                "MODIFIED", "a", "12") EVENT("DELETED", "b", "13") BOOKMARK("20")),
                        .drips = true});
        /* the bookmark's version is where the next watch goes on */
        hold(&f, "20");
        reflect(&f,
                &(struct reflector_spec){.metadata_only = true, .label_selector = "role=worker"});
        assert_true(reflector_is_synced(f.reflector));
        assert_true(restarts(&f, "short") == 1);
        assert_true(metric_value(metrics_gauge(f.metrics, "plimsoll_objects", "",
                                               LABELS("resource", "nodes"))) == 2);
        assert_true(metric_value(
                            metrics_counter(f.metrics, "plimsoll_watch_events_total", "",
                                            LABELS("resource", "nodes", "type", "BOOKMARK"))) == 1);
        stop(&f);
}

/* What went while nobody watched is told after the relist; what came back with another uid too. */
static void test_expired_event(void **state) {
        struct fixture f = {.wanted_log = "+ a;+ b;+ c;=3;+ a;- c;+ c/u-2;- b;=2;"};

        (void)state;
        list(&f, LIST("10", "", OBJECT("a", "1") "," OBJECT("b", "2") "," OBJECT("c", "3")));
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                                        .response = scripted_stream(EXPIRED)});
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"limit=100&resourceVersion=10&"
                                        "resourceVersionMatch=NotOlderThan "},
                             .response = scripted_http(
                                     200, "",
                                     LIST("30", "",
                                          OBJECT("a", "25") ",{\"metadata\":{\"name\":\"c\","
                                                            "\"uid\":\"u-2\"}}"))});
        hold(&f, "30");
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "expired") == 1);
        stop(&f);
}

/* The same by HTTP status, from servers that have no newer state either. */
static void test_expired_status(void **state) {
        static const int refusals[] = {410, 504, 400};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
                struct fixture f = {.wanted_log = "+ a;=1;+ b;- a;=1;"};
                list(&f, LIST("10", "", OBJECT("a", "1")));
                scripted_add(&f.server,
                             (struct scripted_reply){.expect = {"watch=1"},
                                                     .response = scripted_http(410, "", "{}")});
                scripted_add(&f.server, (struct scripted_reply){
                                                .expect = {"resourceVersionMatch=NotOlderThan "},
                                                .response = scripted_http(refusals[i], "", "{}")});
                scripted_add(&f.server,
                             (struct scripted_reply){
                                     .expect = {"GET /api/v1/nodes?limit=100 "},
                                     .response = scripted_http(200, "",
                                                               LIST("30", "", OBJECT("b", "1")))});
                hold(&f, "30");
                reflect(&f, &(struct reflector_spec){0});
                stop(&f);
        }
}

static void test_expired_continue(void **state) {
        struct fixture f = {.wanted_log = "+ a;+ a;+ b;=2;"};

        (void)state;
        list(&f, LIST("10", "c", OBJECT("a", "1")));
        scripted_add(&f.server, (struct scripted_reply){.expect = {"&continue=c "},
                                                        .response = scripted_http(410, "", "{}")});
        scripted_add(
                &f.server,
                (struct scripted_reply){
                        .expect = {"GET /api/v1/nodes?limit=100 "},
                        .response = scripted_http(
                                200, "", LIST("12", "", OBJECT("a", "1") "," OBJECT("b", "2")))});
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* A watch that breaks in the middle of a line goes on behind the last whole one. */
static void test_cut_line(void **state) {
        struct fixture f = {.wanted_log = "=0;+ a;+ b;"};

        (void)state;
        list(&f, LIST("10", "", ""));
        scripted_add(&f.server, (struct scripted_reply){
                                        .expect = {"watch=1&resourceVersion=10&"},
                                        .response = scripted_chunk(
                                                EVENT("ADDED", "a",
                                                      "11") "{\"type\":\"ADDED\",\"object\":{\"m",
                                                false)});
        scripted_add(&f.server,
                     (struct scripted_reply){.expect = {"watch=1&resourceVersion=11&"},
                                             .response = scripted_stream(EVENT("ADDED", "b", "12")),
                                             .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "reset") == 1);
        stop(&f);
}

/* What the server cannot be asked past is skipped by listing, and nothing is lost or made up. */
static void test_malformed_events(void **state) {
        struct fixture f = {.wanted_log = "+ a;=1;+ b;+ a;+ b;+ c;=3;"};

        (void)state;
        list(&f, LIST("10", "", OBJECT("a", "1")));
        scripted_add(&f.server, (struct scripted_reply){
                                        .expect = {"watch=1&resourceVersion=10&"},
                                        .response = scripted_stream(EVENT(
                                                "ADDED", "b", "11") "{\"type\":\"ADDED\"}\n")});
        for (int i = 0; i < 3; i++)
                scripted_add(&f.server,
                             (struct scripted_reply){.expect = {"watch=1&resourceVersion=11&"},
                                                     .response = scripted_stream("<html>\n")});
        list(&f, LIST("20", "", OBJECT("a", "1") "," OBJECT("b", "2") "," OBJECT("c", "3")));
        hold(&f, "20");
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 4);
        stop(&f);
}

static void test_endless_line(void **state) {
        struct fixture f = {.wanted_log = "=0;+ a;"};
        char *line = xmalloc(WATCH_LINE_MAX_BYTES + 100);

        (void)state;
        memset(line, ' ', WATCH_LINE_MAX_BYTES + 99);
        line[WATCH_LINE_MAX_BYTES + 99] = '\0';
        list(&f, LIST("10", "", ""));
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1"},
                                                        .response = scripted_stream(line)});
        scripted_add(&f.server,
                     (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                             .response = scripted_stream(EVENT("ADDED", "a", "11")),
                                             .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 1);
        free(line);
        stop(&f);
}

/* 200 with something else than a list deletes nothing. */
static void test_no_list(void **state) {
        struct fixture f = {.wanted_log = "+ a;=1;+ a;=1;"};

        (void)state;
        list(&f, LIST("10", "", OBJECT("a", "1")));
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1"},
                                                        .response = scripted_stream(EXPIRED)});
        list(&f, "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Success\"}");
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?limit=100&resourceVersion=10"},
                             .response = scripted_http(200, "", "{}")});
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?limit=100&resourceVersion=10"},
                             .response = scripted_http(200, "", LIST("12", "", OBJECT("a", "1")))});
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* Pages past the ceiling are asked for in halves. */
static void test_large_page(void **state) {
        enum { PAGE_BYTES = (16 << 20) + 100 };
        struct fixture f = {.wanted_log = "+ a;=1;"};
        char *page = xmalloc(PAGE_BYTES + 1);

        (void)state;
        memset(page, ' ', PAGE_BYTES);
        page[PAGE_BYTES] = '\0';
        scripted_add(&f.server, (struct scripted_reply){.expect = {"GET /api/v1/nodes?limit=100 "},
                                                        .response = scripted_http(200, "", page)});
        free(page);
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?limit=50 "},
                             .response = scripted_http(200, "", LIST("12", "", OBJECT("a", "1")))});
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

static void test_closing_at_once(void **state) {
        struct fixture f = {.wanted_log = "=0;"};

        (void)state;
        list(&f, LIST("10", "", ""));
        for (int i = 0; i < 3; i++)
                scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1"},
                                                                .response = scripted_stream("")});
        /* 429 as the server throttles, and a connection that breaks before an answer */
        scripted_add(&f.server,
                     (struct scripted_reply){.expect = {"watch=1"},
                                             .response = scripted_http(429, "Retry-After: 0\r\n",
                                                                       "Too many requests")});
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1"}});
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                                        .response = scripted_stream(BOOKMARK("11")),
                                                        .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "short") == 3);
        assert_true(restarts(&f, "throttled") == 1);
        assert_true(restarts(&f, "unavailable") == 1);
        stop(&f);
}

static void test_forbidden(void **state) {
        struct fixture f = {
                .wanted_log = "",
                .wanted_trouble = "list: 403 nodes is forbidden",
        };

        (void)state;
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?limit=100 "},
                             .response = scripted_http(
                                     403, "", "{\"message\":\"nodes is forbidden: no list\"}")});
        scripted_add(&f.server, (struct scripted_reply){.expect = {"GET /api/v1/nodes?limit=100 "},
                                                        .response = scripted_stream(""),
                                                        .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        assert_false(reflector_is_synced(f.reflector));
        stop(&f);
}

/* An API server that has just started answers so, until it has read the roles. */
static void test_forbidden_for_a_moment(void **state) {
        struct fixture f = {.wanted_log = "+ a;=1;"};
        int64_t start_ms = clock_mono_ms();

        (void)state;
        scripted_add(&f.server, (struct scripted_reply){.expect = {"GET /api/v1/nodes?limit=100 "},
                                                        .response = scripted_http(403, "", "{}")});
        list(&f, LIST("10", "", OBJECT("a", "1")));
        hold(&f, "10");
        reflect(&f, &(struct reflector_spec){0});
        assert_true(clock_mono_ms() - start_ms < 10000);
        stop(&f);
}

static void test_unusable_objects(void **state) {
        struct fixture f = {.wanted_log = "+ a;+ b;=2;- a;+ c;"};

        (void)state;
        /* without a name, with an impossible one, and one too many */
        list(&f, LIST("10", "",
                      OBJECT("a", "1") ",{},{\"metadata\":{\"name\":\"\"}},{\"metadata\":{\"name\":"
                                       "7}}," OBJECT("x/y", "1") "," OBJECT("b", "2") "," OBJECT(
                                               "z", "3")));
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"watch=1"},
                             .response = scripted_stream(
                                     EVENT("DELETED", "unknown", "11") EVENT("MODIFIED", "z", "12")
                                             EVENT("DELETED", "a", "13") EVENT("ADDED", "c", "14")),
                             .holds = true});
        reflect(&f, &(struct reflector_spec){.max_objects = 2});
        assert_true(metric_value(metrics_counter(f.metrics, "plimsoll_watch_events_total", "",
                                                 LABELS("resource", "nodes", "type", "ignored"))) ==
                    7);
        stop(&f);
}

static void test_initial_selector(void **state) {
        struct fixture f = {.wanted_log = "+ old;+ a;+ a;=1;"};

        (void)state;
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"?fieldSelector=wide&limit=7 "},
                             .response = scripted_http(
                                     200, "",
                                     LIST("9", "", OBJECT("old", "1") ",{}," OBJECT("a", "2")))});
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"?fieldSelector=narrow&limit=7 "},
                             .response = scripted_http(200, "", LIST("10", "", OBJECT("a", "2")))});
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"?fieldSelector=narrow&watch=1&resourceVersion=10&"},
                             .response = scripted_stream(""),
                             .holds = true});
        reflect(&f, &(struct reflector_spec){.field_selector = "narrow",
                                             .initial_field_selector = "wide",
                                             .page_limit = 7});
        stop(&f);
}

/* Freed while the list is on its way. */
static void test_free_under_way(void **state) {
        struct fixture f = {.wanted_log = "", .wanted_trouble = "list: not finished yet"};

        (void)state;
        scripted_add(&f.server, (struct scripted_reply){.response = xstrdup("HTTP/1.1 200 OK\r\n"),
                                                        .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* Bindings */

static void on_binding(void *userdata, const char *node, int64_t at_unix_ms) {
        struct fixture *f = userdata;
        int64_t age_ms = clock_wall_unix_ms() - at_unix_ms;

        (void)buf_printf(&f->log, "%s %s;", node,
                         age_ms < -MS_PER_S        ? "future"
                         : age_ms < MS_PER_MIN     ? "now"
                         : age_ms < 3 * MS_PER_MIN ? "2m"
                                                   : "old");
}

struct pod {
        const char *name, *node;
        int64_t bound_ago_ms; /* INT64_MIN: no condition */
        int64_t created_ago_ms;
        const char *annotations;
};

static void put_pod(struct buf *out, const struct pod *pod) {
        char bound[TIMESTAMP_MAX], created[TIMESTAMP_MAX];
        int64_t now_unix_ms = clock_wall_unix_ms();

        timestamp_format_s(now_unix_ms - pod->created_ago_ms, created, sizeof(created));
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"u-%s\","
                         "\"resourceVersion\":\"5\",\"creationTimestamp\":\"%s\","
                         "\"annotations\":{%s}},\"spec\":{\"nodeName\":\"%s\"},\"status\":{"
                         "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}",
                         pod->name, pod->name, created, pod->annotations ? pod->annotations : "",
                         pod->node);
        if (pod->bound_ago_ms != INT64_MIN) {
                timestamp_format_s(now_unix_ms - pod->bound_ago_ms, bound, sizeof(bound));
                (void)buf_printf(out,
                                 ",{\"type\":\"PodScheduled\",\"status\":\"True\","
                                 "\"lastTransitionTime\":\"%s\"}",
                                 bound);
        }
        (void)buf_puts(out, "]}}");
}

static char *pod_list(const struct pod *pods, size_t count) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);

        (void)buf_puts(&out, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},"
                             "\"items\":[");
        for (size_t i = 0; i < count; i++) {
                if (i > 0)
                        (void)buf_putc(&out, ',');
                put_pod(&out, &pods[i]);
        }
        (void)buf_puts(&out, "]}");
        return scripted_http(200, "", out.data);
}

static void test_bindings(void **state) {
        struct fixture f = {.wanted_log = "n1 2m;n2 now;n3 now;n5 2m;n6 now;"};
        static const struct pod wide[] = {
                {"running", "n1", 2 * MS_PER_MIN, MS_PER_DAY, NULL},
                {"long-bound", "n1", 6 * MS_PER_MIN, MS_PER_DAY, NULL},
                {"mirror", "n1", 0, 0, "\"kubernetes.io/config.mirror\":\"x\""},
                {"unbound", "", 0, 0, NULL},
        };
        static const struct pod narrow[] = {
                {"ahead", "n2", -10 * MS_PER_MIN, 0, NULL}, /* the server's clock is: now */
                {"pending", "n3", 0, 0, NULL},
                {"preset-old", "n4", INT64_MIN, 6 * MS_PER_MIN, NULL},
                {"preset", "n5", INT64_MIN, 2 * MS_PER_MIN, NULL},
        };
        static const struct pod later[] = {
                {"pending", "n3", 0, 0, NULL}, /* again: not counted again */
                {"fresh", "n6", 0, 0, NULL},
                {"fresh", "n6", 0, 0, NULL},
        };
        _cleanup_(buf_done) struct buf events = BUF_INIT(1 << 16);

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(later); i++) {
                (void)buf_puts(&events, "{\"type\":\"MODIFIED\",\"object\":");
                put_pod(&events, &later[i]);
                (void)buf_puts(&events, "}\n");
        }
        (void)buf_puts(&events, "{\"type\":\"DELETED\",\"object\":");
        put_pod(&events, &later[0]);
        (void)buf_puts(&events, "}\n{\"type\":\"ADDED\",\"object\":");
        put_pod(&events, &later[0]);
        (void)buf_puts(&events, "}\n");

        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/pods?fieldSelector=spec.nodeName%21%3D%2C"
                                        "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"},
                             .response = pod_list(wide, ARRAY_LEN(wide))});
        scripted_add(&f.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/pods?fieldSelector=spec.nodeName%21%3D%2C"
                                        "status.phase%3DPending&limit="},
                             .response = pod_list(narrow, ARRAY_LEN(narrow))});
        scripted_add(&f.server, (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                                        .response = scripted_stream(events.data),
                                                        .holds = true});
        start(&f);
        struct binding_watch *watch = binding_watch_new(f.loop, f.api, f.metrics, 5 * MS_PER_MIN,
                                                        on_binding, &f);
        run(&f);
        assert_true(reflector_is_synced(binding_watch_reflector(watch)));
        assert_string_equal(reflector_trouble(binding_watch_reflector(watch)), "");
        assert_true(metric_value(metrics_counter(f.metrics, "plimsoll_bindings_total", "", NULL)) ==
                    5);
        binding_watch_free(watch);
        stop(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pages_then_events),
                cmocka_unit_test(test_expired_event),
                cmocka_unit_test(test_expired_status),
                cmocka_unit_test(test_expired_continue),
                cmocka_unit_test(test_cut_line),
                cmocka_unit_test(test_malformed_events),
                cmocka_unit_test(test_endless_line),
                cmocka_unit_test(test_no_list),
                cmocka_unit_test(test_large_page),
                cmocka_unit_test(test_closing_at_once),
                cmocka_unit_test(test_forbidden),
                cmocka_unit_test(test_forbidden_for_a_moment),
                cmocka_unit_test(test_unusable_objects),
                cmocka_unit_test(test_initial_selector),
                cmocka_unit_test(test_free_under_way),
                cmocka_unit_test(test_bindings),
        };

        (void)unsetenv("KUBERNETES_SERVICE_HOST");
        (void)unsetenv("KUBECONFIG");
        (void)unsetenv("HOME");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
