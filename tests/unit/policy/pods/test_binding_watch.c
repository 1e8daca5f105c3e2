/* Bindings from a watch on pods, against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include "base/timestamp.h"
#include "policy/pods/binding_watch.h"
#include "tests/unit/fixture/reflector_fixture.h"

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
        const char *owner; /* kind; NULL: none */
};

static void put_pod(struct buf *out, const struct pod *pod) {
        char bound[TIMESTAMP_MAX], created[TIMESTAMP_MAX];
        int64_t now_unix_ms = clock_wall_unix_ms();

        timestamp_format_s(now_unix_ms - pod->created_ago_ms, created, sizeof(created));
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"u-%s\","
                         "\"resourceVersion\":\"5\",\"creationTimestamp\":\"%s\","
                         "\"annotations\":{%s},\"ownerReferences\":[{\"kind\":\"%s\"}]},"
                         "\"spec\":{\"nodeName\":\"%s\"},\"status\":{"
                         "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}",
                         pod->name, pod->name, created, pod->annotations ? pod->annotations : "",
                         pod->owner ? pod->owner : "ReplicaSet", pod->node);
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

static void put_event(struct buf *out, const char *type, const struct pod *pod) {
        (void)buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
        put_pod(out, pod);
        (void)buf_puts(out, "}\n");
}

static void add_list(struct fixture *f, const struct pod *pods, size_t count) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/pods?fieldSelector=spec.nodeName%21%3D%2C"
                                        "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&"
                                        "limit="},
                             .response = pod_list(pods, count)});
}

static void add_watch(struct fixture *f, const char *events, bool holds) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/pods?fieldSelector=spec.nodeName%21%3D%2C"
                                        "status.phase%3DPending&watch=1&resourceVersion=10&"},
                             .response = scripted_stream(events),
                             .holds = holds});
}

static struct binding_watch *watch_pods(struct fixture *f) {
        start(f);
        struct binding_watch *watch = binding_watch_new(f->rig.loop, f->rig.api, f->rig.metrics,
                                                        5 * MS_PER_MIN, on_binding, f);
        run(f);
        return watch;
}

#define NAME_84                                                                                    \
        "012345678901234567890123456789012345678901-1234567890123456789012345678901234567890a"
#define NAME_253 NAME_84 NAME_84 NAME_84 "b" /* the longest that a node may have */

/* A DaemonSet has its pods on every node: they say nothing about what a scheduler gave to it. */
TEST(bindings) {
        _cleanup_(stop) struct fixture f = {.wanted_log = "n1 2m;n2 now;n3 now;n5 2m;" NAME_253
                                                          " now;n6 now;"};
        static const struct pod listed[] = {
                {"running", "n1", 2 * MS_PER_MIN, MS_PER_DAY, NULL, NULL},
                {"long-bound", "n1", 6 * MS_PER_MIN, MS_PER_DAY, NULL, NULL},
                {"mirror", "n1", 0, 0, "\"kubernetes.io/config.mirror\":\"x\"", NULL},
                {"unbound", "", 0, 0, NULL, NULL},
                {"ahead", "n2", -10 * MS_PER_MIN, 0, NULL, NULL}, /* the server's clock is: now */
                {"pending", "n3", 0, 0, NULL, NULL},
                {"preset-old", "n4", INT64_MIN, 6 * MS_PER_MIN, NULL, NULL},
                {"preset", "n5", INT64_MIN, 2 * MS_PER_MIN, NULL, NULL},
                {"agent", "n5", 0, 0, NULL, "DaemonSet"},
                {"longest", NAME_253, 0, 0, NULL, NULL},
                {"too-long", NAME_253 "c", 0, 0, NULL, NULL},
        };
        static const struct pod later[] = {
                {"pending", "n3", 0, 0, NULL, NULL}, /* again: not counted again */
                {"driver", "n6", 0, 0, NULL, "DaemonSet"},
                {"fresh", "n6", 0, 0, NULL, NULL},
                {"fresh", "n6", 0, 0, NULL, NULL},
        };
        _cleanup_(buf_done) struct buf events = BUF_INIT(1 << 16);

        for (size_t i = 0; i < ARRAY_LEN(later); i++)
                put_event(&events, "MODIFIED", &later[i]);
        put_event(&events, "DELETED", &later[0]);
        put_event(&events, "ADDED", &later[0]);
        add_list(&f, listed, ARRAY_LEN(listed));
        add_watch(&f, events.data, true);
        struct binding_watch *watch = watch_pods(&f);
        assert_true(reflector_is_synced(binding_watch_reflector(watch)));
        assert_string_equal(reflector_trouble(binding_watch_reflector(watch)), "");
        assert_true(metrics_value(metrics_counter(f.rig.metrics, "plimsoll_bindings_total", "",
                                                  NULL)) == 6);
        binding_watch_free(watch);
}

/* Logs the nodes with other names than "n". */
static void on_many(void *userdata, const char *node, int64_t at_unix_ms) {
        struct fixture *f = userdata;

        if (strcmp(node, "n") != 0)
                (void)buf_printf(&f->log, "%s;", node);
}

static void put_numbered(struct buf *out, int number) {
        char now[TIMESTAMP_MAX];

        timestamp_format_s(clock_wall_unix_ms(), now, sizeof(now));
        (void)buf_printf(out,
                         "{\"metadata\":{\"uid\":\"%d\",\"resourceVersion\":\"5\","
                         "\"creationTimestamp\":\"%s\"},\"spec\":{\"nodeName\":\"%s\"}}",
                         number, now, number == 0 ? "first" : "n");
}

/* The page with the pods from @begin to before @end. */
static void add_numbered(struct fixture *f, int begin, int end, const char *next) {
        _cleanup_(buf_done) struct buf page = BUF_INIT(16 << 20);

        (void)buf_printf(&page,
                         "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\","
                         "\"continue\":\"%s\"},\"items\":[",
                         next);
        for (int i = begin; i < end; i++) {
                (void)buf_puts(&page, i > begin ? "," : "");
                put_numbered(&page, i);
        }
        (void)buf_puts(&page, "]}");
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {"GET /api/v1/pods?"},
                                             .response = scripted_http(200, "", page.data)});
}

/* So many are remembered that only the one counted first is counted again. */
TEST(ceiling) {
        enum { REMEMBERED = 200000, PAGE = REMEMBERED / 2 };
        _cleanup_(stop) struct fixture f = {.wanted_log = "first;first;"};
        _cleanup_(buf_done) struct buf events = BUF_INIT(4096);

        for (int i = 1; i >= 0; i--) {
                (void)buf_puts(&events, "{\"type\":\"MODIFIED\",\"object\":");
                put_numbered(&events, i);
                (void)buf_puts(&events, "}\n");
        }
        add_numbered(&f, 0, PAGE, "a");
        add_numbered(&f, PAGE, REMEMBERED + 1, "");
        add_watch(&f, events.data, true);
        start(&f);
        f.deadline_mono_ms += 2 * DEADLINE_MS; /* an emulated processor is slow */
        struct binding_watch *watch = binding_watch_new(f.rig.loop, f.rig.api, f.rig.metrics,
                                                        5 * MS_PER_MIN, on_many, &f);
        run(&f);
        assert_true(metrics_value(metrics_counter(f.rig.metrics, "plimsoll_bindings_total", "",
                                                  NULL)) == REMEMBERED + 2);
        binding_watch_free(watch);
}
