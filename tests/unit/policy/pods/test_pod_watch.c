/* All bound pods from list and watch, against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include "base/strmap.h"
#include "base/timestamp.h"
#include "policy/pods/pod_watch.h"
#include "tests/unit/fixture/reflector_fixture.h"

/* The pods of the tests by the first letter of their uid. */
static char letter_of(uint64_t id) {
        for (const char *c = "abcdefghz"; *c; c++)
                if (strmap_hash(c, 1) == id)
                        return *c;
        return '?';
}

static void on_list_begins(void *userdata) {
        struct fixture *f = userdata;

        (void)buf_puts(&f->log, "[;");
}

static void on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct fixture *f = userdata;
        int64_t age_ms = clock_wall_unix_ms() - facts->bound_unix_ms;

        (void)buf_printf(&f->log, "%c%c %.*s %.*s %g %s;", is_appeared ? '*' : '+',
                         letter_of(facts->id), (int)facts->node.len, facts->node.text,
                         (int)facts->workload_len, facts->workload, facts->request.of[ESTIMATE_CPU],
                         age_ms < -MS_PER_S        ? "future"
                         : age_ms < MS_PER_MIN     ? "now"
                         : age_ms < 3 * MS_PER_MIN ? "2m"
                                                   : "old");
}

static void on_gone(void *userdata, const struct pod_facts *facts) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "-%c;", letter_of(facts->id));
}

static void on_list_ended(void *userdata) {
        struct fixture *f = userdata;

        (void)buf_puts(&f->log, "];");
}

static const struct pod_watch_events events = {
        .list_begins = on_list_begins,
        .pod = on_pod,
        .gone = on_gone,
        .list_ended = on_list_ended,
};

struct pod {
        const char *uid, *node, *phase;
        int64_t bound_ago_ms; /* INT64_MIN: neither condition nor creation */
};

static void put_pod(struct buf *out, const struct pod *pod) {
        char bound[TIMESTAMP_MAX] = "";

        if (pod->bound_ago_ms != INT64_MIN)
                timestamp_format_s(clock_wall_unix_ms() - pod->bound_ago_ms, bound, sizeof(bound));
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"n\",\"namespace\":\"d\",\"uid\":\"%s\","
                         "\"resourceVersion\":\"15\",\"ownerReferences\":[{\"kind\":\"Set\","
                         "\"name\":\"w\"}]},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{"
                         "\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]},\"status\":{"
                         "\"phase\":\"%s\",\"conditions\":[{\"type\":\"PodScheduled\","
                         "\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}}",
                         pod->uid, pod->node, pod->phase, bound);
}

static void put_event(struct buf *out, const char *type, const struct pod *pod) {
        (void)buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
        put_pod(out, pod);
        (void)buf_puts(out, "}\n");
}

#define SELECT_ALL                                                                                 \
        "GET /api/v1/pods?fieldSelector=spec.nodeName%21%3D%2Cstatus.phase%21%3DSucceeded%2C"      \
        "status.phase%21%3DFailed&limit="

static void add_list(struct fixture *f, const char *select, const struct pod *pods, size_t count) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1 << 16);

        (void)buf_puts(&out, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},"
                             "\"items\":[");
        for (size_t i = 0; i < count; i++) {
                (void)buf_puts(&out, i ? "," : "");
                put_pod(&out, &pods[i]);
        }
        (void)buf_puts(&out, "]}");
        scripted_add(&f->rig.server,
                     (struct scripted_reply){
                             .expect = {select, "\r\nAccept: application/vnd.kubernetes.protobuf,"
                                                "application/json;q=0.9\r\n"},
                             .response = scripted_http(200, "", out.data)});
}

static void add_watch(struct fixture *f, const char *text, bool holds) {
        scripted_add(&f->rig.server,
                     (struct scripted_reply){.expect = {"watch=1&resourceVersion=10&"},
                                             .response = scripted_stream(text),
                                             .holds = holds});
}

static struct pod_watch *watch_pods(struct fixture *f, enum pod_watch_scope scope,
                                    const struct pod_watch_events *told) {
        start(f);
        struct pod_watch *watch = pod_watch_new(f->rig.loop, f->rig.api, f->rig.metrics, scope,
                                                told, f);
        run(f);
        return watch;
}

static double unreadable(struct fixture *f) {
        return metrics_value(
                metrics_counter(f->rig.metrics, "plimsoll_pods_unreadable_total", "", NULL));
}

TEST(pods) {
        static const struct pod listed[] = {
                {"a", "n1", "Running", 2 * MS_PER_MIN},
                {"b", "n1", "Pending", MS_PER_DAY},
                {"c", "n2", "Running", -10 * MS_PER_MIN}, /* the server's clock is ahead */
                {"d", "n2", "Running", INT64_MIN},
                /* what the selector should have kept away */
                {"e", "", "Pending", 0},
                {"f", "n2", "Succeeded", 0},
                {"", "n2", "Running", 0},
        };
        static const struct {
                const char *type;
                struct pod pod;
        } later[] = {
                {"ADDED", {"g", "n3", "Pending", 2 * MS_PER_MIN}},    /* our clock is ahead */
                {"ADDED", {"h", "n3", "Running", 6 * MS_PER_MIN}},    /* no clock is that wrong */
                {"MODIFIED", {"g", "n3", "Running", 2 * MS_PER_MIN}}, /* known since it came */
                {"MODIFIED", {"a", "n1", "Failed", 2 * MS_PER_MIN}},
                {"DELETED", {"b", "n1", "Running", MS_PER_DAY}},
                {"DELETED", {"z", "n1", "Running", MS_PER_DAY}},
        };
        _cleanup_(stop) struct fixture f = {
                .wanted_log = "[;+a n1 d/Set/w 0.5 2m;+b n1 d/Set/w 0.5 old;+c n2 d/Set/w 0.5 now;"
                              "+d n2 d/Set/w 0.5 now;-e;-f;];*g n3 d/Set/w 0.5 now;"
                              "*h n3 d/Set/w 0.5 old;+g n3 d/Set/w 0.5 2m;-a;-b;-z;",
        };
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 16);

        for (size_t i = 0; i < ARRAY_LEN(later); i++)
                put_event(&text, later[i].type, &later[i].pod);
        /* a text that is no pod's */
        (void)buf_puts(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":"
                              "\"16\"},\"spec\":[]}}\n");
        add_list(&f, SELECT_ALL, listed, ARRAY_LEN(listed));
        add_watch(&f, text.data, true);
        struct pod_watch *watch = watch_pods(&f, POD_WATCH_ALL, &events);
        assert_true(pod_watch_is_live(watch));
        assert_string_equal(reflector_trouble(pod_watch_reflector(watch)), "");
        assert_true(unreadable(&f) == 2);
        pod_watch_free(watch);
}

/* A position that has expired: the owner hears where the new list begins and ends. */
TEST(expired) {
        static const struct pod before[] = {{"a", "n1", "Running", 0}, {"b", "n1", "Running", 0}};
        _cleanup_(stop) struct fixture f = {
                .wanted_log = "[;+a n1 d/Set/w 0.5 now;+b n1 d/Set/w 0.5 now;];"
                              "[;+b n1 d/Set/w 0.5 now;];",
        };

        add_list(&f, SELECT_ALL, before, 2);
        add_watch(&f,
                  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                  "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n",
                  false);
        add_list(&f, SELECT_ALL, &before[1], 1);
        add_watch(&f, "", true);
        pod_watch_free(watch_pods(&f, POD_WATCH_ALL, &events));
}
