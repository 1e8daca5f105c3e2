/* What a reflector does about refusals, and about requests that it may not send. */
#include "tests/unit/fixture/test.h"

#include "codec/json.h"
#include "tests/unit/fixture/reflector_fixture.h"

#define OBJECT(name) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\"}}"
#define LIST(version, next, items)                                                                 \
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version                      \
        "\",\"continue\":\"" next "\"},\"items\":[" items "]}"
#define ERROR(status) "{\"type\":\"ERROR\",\"object\":" status "}\n"

static void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "%c %s;", event == REFLECTOR_DELETED ? '-' : '+',
                         json_string_at(object, "metadata", "name", NULL));
}

static void on_synced(void *userdata, size_t count) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "=%zu;", count);
}

static void reflect(struct fixture *f, const char *label_selector, int64_t first_pause_ms) {
        start(f);
        f->reflector = reflector_new(f->rig.loop, f->rig.api, f->rig.metrics,
                                     &(struct reflector_spec){.name = "nodes",
                                                              .path = "/api/v1/nodes",
                                                              .label_selector = label_selector,
                                                              .first_pause_ms = first_pause_ms,
                                                              .on_event = on_event,
                                                              .on_synced = on_synced,
                                                              .userdata = f});
        run(f);
}

/* An expired position is listed past; after any other error the same watch is tried again. */
TEST(error_events) {
        static const struct {
                const char *status;
                bool is_expired;
                const char *trouble; /* while nothing has followed */
        } rows[] = {
                {"{\"code\":410,\"message\":\"too old\"}", true, NULL},
                {"{\"reason\":\"Expired\"}", true, NULL},
                {"{\"code\":500,\"reason\":\"Gone\"}", true, NULL},
                {"{\"code\":500,\"reason\":\"InternalError\",\"message\":\"no etcd\"}", false,
                 "watch: 500 no etcd"},
                {"{\"code\":\"410\",\"reason\":410}", false, "watch: 0 error event"},
                {"{}", false, "watch: 0 error event"},
                {"{\"code\":1e999}", false, "watch: 0 error event that cannot be read"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.wanted_log = rows[i].is_expired ? "+ a;=1;+ a;=1;" : "+ a;=1;",
                                    .wanted_trouble = rows[i].trouble};
                _cleanup_(freep) char *event = xasprintf(ERROR("%s"), rows[i].status);
                answer(&f, "limit=100 ", scripted_http(200, "", LIST("10", "", OBJECT("a"))),
                       false);
                answer(&f, "watch=1&resourceVersion=10&", scripted_stream(event), false);
                if (rows[i].is_expired)
                        answer(&f, "resourceVersionMatch=NotOlderThan ",
                               scripted_http(200, "", LIST("20", "", OBJECT("a"))), false);
                answer(&f,
                       rows[i].is_expired ? "watch=1&resourceVersion=20&"
                                          : "watch=1&resourceVersion=10&",
                       scripted_stream(""), true);
                reflect(&f, NULL, 2);
                assert_true(restarts(&f, rows[i].is_expired ? "expired" : "error") == 1);
                stop(&f);
        }
}

/* What a list says is no trouble any more when a list is complete, though a watch had the same. */
TEST(watch_and_list_are_refused_alike) {
        struct fixture f = {.wanted_log = "=0;=0;"};

        answer(&f, "limit=100 ", scripted_http(200, "", LIST("10", "", "")), false);
        for (int i = 0; i < 3; i++) /* the watch, and the list with and without a version */
                answer(&f, i == 0 ? "watch=1&" : "limit=100", scripted_http(400, "", "{}"), false);
        answer(&f, "limit=100 ", scripted_http(200, "", LIST("20", "", "")), false);
        answer(&f, "watch=1&resourceVersion=20&", xstrdup(""), true);
        reflect(&f, NULL, 2);
        assert_true(restarts(&f, "invalid") == 1);
        stop(&f);
}

/* A relist whose second page has expired begins again; what it has not shown is not gone. */
TEST(expired_page_of_a_relist) {
        struct fixture f = {.wanted_log = "+ a;+ b;=2;+ a;+ a;+ b;=2;"};

        answer(&f, "limit=100 ",
               scripted_http(200, "", LIST("10", "", OBJECT("a") "," OBJECT("b"))), false);
        answer(&f, "watch=1&", scripted_http(410, "", "{}"), false);
        answer(&f, "resourceVersionMatch=NotOlderThan ",
               scripted_http(200, "", LIST("20", "c", OBJECT("a"))), false);
        answer(&f, "&continue=c ", scripted_http(410, "", "{}"), false);
        answer(&f, "&resourceVersion=10&resourceVersionMatch=NotOlderThan ",
               scripted_http(200, "", LIST("30", "", OBJECT("a") "," OBJECT("b"))), false);
        answer(&f, "watch=1&resourceVersion=30&", scripted_stream(""), true);
        reflect(&f, NULL, 2);
        stop(&f);
}
