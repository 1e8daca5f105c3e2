/* List and watch in protobuf, as a real API server answered (tests/data/kube-proto). */
#include "tests/unit/fixture/test.h"

#include "codec/json.h"
#include "kube/kube_proto.h"
#include "tests/unit/fixture/reflector_fixture.h"

enum { RECORDED_MAX_BYTES = 1 << 17 };

#define ACCEPTS "\r\nAccept: application/vnd.kubernetes.protobuf,application/json;q=0.9\r\n"

static const char marks[] = {
        [REFLECTOR_PRESENT] = '+', [REFLECTOR_APPEARED] = '*', [REFLECTOR_DELETED] = '-'};

static void on_text(void *userdata, enum reflector_event event, const char *text, size_t len) {
        struct fixture *f = userdata;

        assert_true(len > 0 && text[0] == '{' && text[len - 1] == '}');
        (void)buf_putc(&f->log, marks[event]);
}

static void on_list_begin(void *userdata) {
        struct fixture *f = userdata;

        (void)buf_putc(&f->log, '[');
}

static void on_synced(void *userdata, size_t count) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "=%zu;", count);
}

/* An answer with a recorded body, which ends with the connection. */
static struct scripted_reply recorded(int status, const char *name) {
        _cleanup_(freep) char *path = xasprintf("%s/kube-proto/%s", TEST_DATA, name);
        _cleanup_(freep) char *body = xmalloc(RECORDED_MAX_BYTES);
        struct buf response = BUF_INIT(2 * RECORDED_MAX_BYTES);
        FILE *file = fopen(path, "rb");

        assert_non_null(file);
        (void)buf_printf(&response, "HTTP/1.1 %d X\r\nConnection: close\r\n\r\n", status);
        (void)buf_append(&response, body, fread(body, 1, RECORDED_MAX_BYTES, file));
        (void)fclose(file);
        size_t len = response.len;
        return (struct scripted_reply){.response = buf_take(&response), .response_bytes = len};
}

static void add_as(struct fixture *f, const char *expect, const char *accepts,
                   struct scripted_reply reply) {
        reply.expect[0] = expect;
        reply.expect[1] = accepts;
        scripted_add(&f->rig.server, reply);
}

static void add(struct fixture *f, const char *expect, struct scripted_reply reply) {
        add_as(f, expect, ACCEPTS, reply);
}

static void reflect(struct fixture *f, const struct reflector_spec *wish) {
        struct reflector_spec spec = *wish;

        start(f);
        spec.on_list_begin = on_list_begin;
        spec.on_synced = on_synced;
        spec.userdata = f;
        f->reflector = reflector_new(f->rig.loop, f->rig.api, f->rig.metrics, &spec);
        run(f);
}

static void reflect_pods(struct fixture *f, int64_t first_pause_ms) {
        reflect(f, &(struct reflector_spec){.name = "pods",
                                            .path = "/api/v1/pods",
                                            .proto = &kube_proto_pod,
                                            .first_pause_ms = first_pause_ms,
                                            .on_text = on_text});
}

/* A refused list, a good one, a watch, one that has expired; then the server knows JSON only. */
TEST(recorded) {
        struct fixture f = {.wanted_log = "[[++++++=6;*++-[+=1;*"};

        add(&f, "GET /api/v1/pods?limit=100 ", recorded(400, "refused.pb"));
        add(&f, "GET /api/v1/pods?limit=100 ", recorded(200, "list.pb"));
        add(&f, "watch=1&", recorded(200, "watch.pb"));
        f.rig.server.script[2].drips = true;
        add(&f, "watch=1&", recorded(200, "bookmark.pb"));
        add(&f, "watch=1&", recorded(200, "expired.pb"));
        add(&f, "&resourceVersionMatch=NotOlderThan",
            (struct scripted_reply){
                    .response = scripted_http(200, "",
                                              "{\"kind\":\"PodList\",\"metadata\":{"
                                              "\"resourceVersion\":\"500\"},\"items\":[{}]}")});
        add(&f, "watch=1&resourceVersion=500&",
            (struct scripted_reply){
                    .response = scripted_stream("{\"type\":\"ADDED\",\"object\":{\"metadata\":{"
                                                "\"resourceVersion\":\"501\"}}}\n"),
                    .holds = true});
        reflect_pods(&f, 2);
        stop(&f);
}

/* What a Status in protobuf says is reported. */
TEST(refused) {
        struct fixture f = {.wanted_trouble = "400 field label not supported: spec.color"};

        add(&f, "GET /api/v1/pods?limit=100 ", recorded(400, "refused.pb"));
        reflect_pods(&f, MS_PER_MIN); /* once is enough */
        stop(&f);
}

/* ---- Nodes, decoded. */

static void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "%c%s;", marks[event],
                         json_string_at(object, "metadata", "name", NULL));
}

/* In JSON, with another uid than the recorded one has. */
#define BARE_IN_JSON(version, heartbeat)                                                           \
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"bare\","    \
        "\"uid\":"                                                                                 \
        "\"u\",\"resourceVersion\":\"" version "\"},\"status\":{\"phase\":\"" heartbeat "\"}}}\n"

/*
 * A report of a kubelet, then annotations and a removal; a list again, in which only the removed
 * one is news; and the server has no protobuf any more: what does not change except for its version
 * is not reported in JSON either.
 */
TEST(only_changes) {
        static const char json[] = BARE_IN_JSON("900", "") BARE_IN_JSON("90001", "")
                BARE_IN_JSON("90002", "x") BARE_IN_JSON("90003", "");
        struct fixture f = {.wanted_log = "[+bare;+full;+node-0;=3;+full;-full;[+full;=3;"
                                          "-bare;*bare;+bare;+bare;"};

        add_as(&f, "GET /api/v1/nodes?limit=", ACCEPTS, recorded(200, "nodes.pb"));
        add_as(&f, "watch=1&", ACCEPTS, recorded(200, "node-watch.pb"));
        add_as(&f, "watch=1&", ACCEPTS, recorded(200, "expired.pb"));
        add_as(&f, "&resourceVersionMatch=NotOlderThan", ACCEPTS, recorded(200, "nodes.pb"));
        add_as(&f, "watch=1&", ACCEPTS,
               (struct scripted_reply){.response = scripted_stream(json), .holds = true});
        reflect(&f, &(struct reflector_spec){.name = "nodes",
                                             .path = "/api/v1/nodes",
                                             .proto = &kube_proto_node,
                                             .first_pause_ms = 2,
                                             .on_event = on_event});
        stop(&f);
}
