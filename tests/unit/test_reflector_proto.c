/* List and watch in protobuf, as a real API server answered (tests/data/kube-proto). */
#include "kube/kube_proto.h"
#include "reflector_fixture.h"

enum { RECORDED_MAX_BYTES = 1 << 17 };

#define ACCEPTS "\r\nAccept: application/vnd.kubernetes.protobuf,application/json;q=0.9\r\n"

static void on_text(void *userdata, enum reflector_event event, const char *text, size_t len) {
        static const char marks[] = {
                [REFLECTOR_PRESENT] = '+', [REFLECTOR_APPEARED] = '*', [REFLECTOR_DELETED] = '-'};
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

static void add(struct fixture *f, const char *expect, struct scripted_reply reply) {
        reply.expect[0] = expect;
        reply.expect[1] = ACCEPTS;
        scripted_add(&f->server, reply);
}

static void reflect(struct fixture *f, int64_t first_pause_ms) {
        start(f);
        f->reflector = reflector_new(f->loop, f->api, f->metrics,
                                     &(struct reflector_spec){
                                             .name = "pods",
                                             .path = "/api/v1/pods",
                                             .proto = &kube_proto_pod,
                                             .first_pause_ms = first_pause_ms,
                                             .on_text = on_text,
                                             .on_list_begin = on_list_begin,
                                             .on_synced = on_synced,
                                             .userdata = f,
                                     });
        run(f);
}

/* A refused list, a good one, a watch, one that has expired; then the server knows JSON only. */
static void test_recorded(void **state) {
        struct fixture f = {.wanted_log = "[[++++++=6;*++-[+=1;*"};

        (void)state;
        add(&f, "GET /api/v1/pods?limit=100 ", recorded(400, "refused.pb"));
        add(&f, "GET /api/v1/pods?limit=100 ", recorded(200, "list.pb"));
        add(&f, "watch=1&", recorded(200, "watch.pb"));
        f.server.script[2].drips = true;
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
        reflect(&f, 2);
        stop(&f);
}

/* What a Status in protobuf says is told. */
static void test_refused(void **state) {
        struct fixture f = {.wanted_trouble = "400 field label not supported: spec.color"};

        (void)state;
        add(&f, "GET /api/v1/pods?limit=100 ", recorded(400, "refused.pb"));
        reflect(&f, MS_PER_MIN); /* once is enough */
        stop(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_recorded),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
