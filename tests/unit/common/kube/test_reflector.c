/* List and watch against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "codec/json.h"
#include "kube/list_page.h"
#include "kube/watch_stream.h"
#include "tests/unit/fixture/reflector_fixture.h"

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
        (void)buf_printf(&f->log, "%c %s", event == REFLECTOR_DELETED ? '-' : '+', name);
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

static void on_text(void *userdata, enum reflector_event event, const char *text, size_t len) {
        static const char marks[] = {
                [REFLECTOR_PRESENT] = '+', [REFLECTOR_APPEARED] = '*', [REFLECTOR_DELETED] = '-'};
        struct fixture *f = userdata;
        json_auto_t *object = NULL;

        assert_int_equal(json_parse(text, len, &object, NULL), 0);
        const char *name = json_string_at(object, "metadata", "name", NULL);
        (void)buf_printf(&f->log, "%c %s;", marks[event], name ? name : "?");
}

static void on_list_begin(void *userdata) {
        struct fixture *f = userdata;

        (void)buf_puts(&f->log, "[;");
}

static void reflect(struct fixture *f, const struct reflector_spec *wish) {
        struct reflector_spec spec = *wish;

        start(f);
        spec.name = "nodes";
        spec.path = "/api/v1/nodes";
        if (!spec.on_text)
                spec.on_event = on_event;
        spec.on_synced = on_synced;
        spec.first_pause_ms = 2;
        spec.userdata = f;
        f->reflector = reflector_new(f->rig.loop, f->rig.api, f->rig.metrics, &spec);
        run(f);
}

static double objects(struct fixture *f) {
        return metrics_value(
                metrics_gauge(f->rig.metrics, "plimsoll_objects", "", LABELS("resource", "nodes")));
}

static double ignored(struct fixture *f) {
        return metrics_value(metrics_counter(f->rig.metrics, "plimsoll_watch_events_total", "",
                                             LABELS("resource", "nodes", "type", "ignored")));
}

static void list(struct fixture *f, const char *body) {
        answer(f, "GET /api/v1/nodes?limit=", scripted_http(200, "", body), false);
}

/* The last step: a watch from @version that stays open. */
static void hold(struct fixture *f, const char *version) {
        static char expect[8][64];
        static size_t next;
        char *text = expect[next++ % 8];

        (void)snprintf(text, sizeof(expect[0]), "watch=1&resourceVersion=%s&", version);
        answer(f, text, scripted_stream(""), true);
}

TEST(pages_then_events) {
        struct fixture f = {
                .wanted_log = "+ a;+ b;=2;+ c;+ a;- b;",
        };

        scripted_add(&f.rig.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?labelSelector=role%3Dworker&limit=500 ",
                                        "\r\nAccept: application/json;as=PartialObjectMetadataList",
                                        "\r\nAccept-Encoding: gzip\r\n"},
                             .response = scripted_http(200, "",
                                                       LIST("10", "to/ken", OBJECT("a", "1")))});
        answer(&f, "?labelSelector=role%3Dworker&limit=500&continue=to%2Fken ",
               scripted_http(200, "", LIST("10", "", OBJECT("b", "2"))), false);
        scripted_add(
                &f.rig.server,
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
        assert_true(objects(&f) == 2);
        assert_true(metrics_value(
                            metrics_counter(f.rig.metrics, "plimsoll_watch_events_total", "",
                                            LABELS("resource", "nodes", "type", "BOOKMARK"))) == 1);
        stop(&f);
}

/* What was deleted while nobody watched is reported after the relist; so is what came back with
 * another uid. */
TEST(expired_event) {
        struct fixture f = {.wanted_log = "+ a;+ b;+ c;=3;+ a;- c;+ c/u-2;- b;=2;"};

        list(&f, LIST("10", "", OBJECT("a", "1") "," OBJECT("b", "2") "," OBJECT("c", "3")));
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(EXPIRED), false);
        answer(&f,
               "limit=100&resourceVersion=10&"
               "resourceVersionMatch=NotOlderThan ",
               scripted_http(200, "",
                             LIST("30", "",
                                  OBJECT("a", "25") ",{\"metadata\":{\"name\":\"c\","
                                                    "\"uid\":\"u-2\"}}")),
               false);
        hold(&f, "30");
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "expired") == 1);
        stop(&f);
}

/* The same by HTTP status, from servers that have no newer state either. */
TEST(expired_status) {
        static const int refusals[] = {410, 504, 400};

        for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
                struct fixture f = {.wanted_log = "+ a;=1;+ b;- a;=1;"};
                list(&f, LIST("10", "", OBJECT("a", "1")));
                answer(&f, "watch=1", scripted_http(410, "", "{}"), false);
                answer(&f, "resourceVersionMatch=NotOlderThan ",
                       scripted_http(refusals[i], "", "{}"), false);
                answer(&f, "GET /api/v1/nodes?limit=100 ",
                       scripted_http(200, "", LIST("30", "", OBJECT("b", "1"))), false);
                hold(&f, "30");
                reflect(&f, &(struct reflector_spec){0});
                stop(&f);
        }
}

/* A list that took too long is tried with larger pages, up to 10,000 objects, and so are relists.
 */
TEST(expired_continue) {
        static const char *const tries[] = {
                "?limit=100 ", "?limit=400 ", "?limit=1600 ", "?limit=6400 ", "?limit=10000 ",
        };
        struct fixture f = {.wanted_log = "+ a;+ a;+ a;+ a;+ a;+ a;+ b;=2;+ a;+ b;=2;"};

        for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
                answer(&f, tries[i], scripted_http(200, "", LIST("10", "c", OBJECT("a", "1"))),
                       false);
                answer(&f, "&continue=c ", scripted_http(410, "", "{}"), false);
        }
        answer(&f, "?limit=10000 ",
               scripted_http(200, "", LIST("12", "", OBJECT("a", "1") "," OBJECT("b", "2"))),
               false);
        answer(&f, "watch=1", scripted_http(410, "", "{}"), false);
        answer(&f, "?limit=10000&resourceVersion=12&",
               scripted_http(200, "", LIST("13", "", OBJECT("a", "1") "," OBJECT("b", "2"))),
               false);
        hold(&f, "13");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* A list that never ends is given up, however large its pages are, and tried again after a pause.
 */
TEST(endless_list) {
        static const struct {
                size_t limit;
                const char *trouble;
        } rows[] = {
                {10000, "list: the list does not end: 100 pages of up to 10000 objects"},
                {1000, "list: the list does not end: 1000 pages of up to 1000 objects"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {.wanted_trouble = rows[i].trouble};
                scripted_add_usual(&f.rig.server,
                                   (struct scripted_reply){
                                           .expect = {"GET /api/v1/nodes?limit="},
                                           .response = scripted_http(
                                                   200, "", LIST("10", "c", OBJECT("a", "1"))),
                                   });
                reflect(&f, &(struct reflector_spec){.page_limit = rows[i].limit});
                assert_false(reflector_is_synced(f.reflector));
                stop(&f);
        }
}

/* Pages that had to be made small may be as many as of 50 objects each. */
TEST(end_of_a_list) {
        assert_int_equal(list_page_check_end(19999, 1, NULL), 0);
        assert_int_equal(list_page_check_end(20000, 1, NULL), -E2BIG);
        assert_int_equal(list_page_check_end(9999, 100, NULL), 0);
        assert_int_equal(list_page_check_end(10000, 100, NULL), -E2BIG);
}

/* Only an expired token is a reason for larger pages. */
TEST(failed_continue) {
        struct fixture f = {.wanted_log = "+ a;+ a;=1;"};

        answer(&f, "?limit=100 ", scripted_http(200, "", LIST("10", "c", OBJECT("a", "1"))), false);
        answer(&f, "&continue=c ", scripted_http(500, "", "{}"), false);
        answer(&f, "?limit=100 ", scripted_http(200, "", LIST("12", "", OBJECT("a", "1"))), false);
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* A watch that breaks in the middle of a line goes on behind the last whole one. */
TEST(cut_line) {
        struct fixture f = {.wanted_log = "=0;+ a;+ b;"};

        list(&f, LIST("10", "", ""));
        answer(&f, "watch=1&resourceVersion=10&",
               scripted_chunk(EVENT("ADDED", "a", "11") "{\"type\":\"ADDED\",\"object\":{\"m",
                              false),
               false);
        answer(&f, "watch=1&resourceVersion=11&", scripted_stream(EVENT("ADDED", "b", "12")), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "reset") == 1);
        stop(&f);
}

/* A server that takes the connection and says nothing shows nothing, however long it is so. */
TEST(silent_watch) {
        struct fixture f = {.wanted_trouble = "no response within 300 ms", .wanted_log = "=0;"};

        list(&f, LIST("10", "", ""));
        answer(&f, "watch=1&resourceVersion=10&", xstrdup(""), true);
        /* Some headers are none. */
        answer(&f, "watch=1&resourceVersion=10&", xstrdup("HTTP/1.1 200 OK\r\n"), true);
        answer(&f, "watch=1&resourceVersion=10&", xstrdup("HTTP/1.1 103 Hints\r\n\r\n"), true);
        answer(&f, "watch=1&resourceVersion=10&", xstrdup(""), true);
        reflect(&f, &(struct reflector_spec){.watch_answer_ms = 300});
        assert_true(restarts(&f, "unavailable") >= 1);
        stop(&f);
}

/* What the server cannot be asked past is skipped by listing, and nothing is lost or made up. */
TEST(malformed_events) {
        struct fixture f = {.wanted_log = "+ a;=1;+ b;+ a;+ b;+ c;=3;"};

        list(&f, LIST("10", "", OBJECT("a", "1")));
        answer(&f, "watch=1&resourceVersion=10&",
               scripted_stream(EVENT("ADDED", "b", "11") "{\"type\":\"ADDED\"}\n"), false);
        for (int i = 0; i < 3; i++)
                answer(&f, "watch=1&resourceVersion=11&", scripted_stream("<html>\n"), false);
        list(&f, LIST("20", "", OBJECT("a", "1") "," OBJECT("b", "2") "," OBJECT("c", "3")));
        /* A list does not show that watches are good again. */
        answer(&f, "watch=1&resourceVersion=20&", scripted_stream(BOOKMARK("21")), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 4);
        stop(&f);
}

/* Lists go on, each after a pause; that no watch can be opened is reported. */
TEST(endless_410) {
        struct fixture f = {.wanted_log = "=0;=0;=0;=0;=0;", .wanted_trouble = "watch: 410 "};

        for (int i = 0; i < 5; i++) {
                list(&f, LIST("10", "", ""));
                answer(&f, "watch=1",
                       i % 2 == 0 ? scripted_stream(EXPIRED) : scripted_http(410, "", "{}"), false);
        }
        answer(&f, "GET /api/v1/nodes?limit=", xstrdup(""), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "expired") == 5);
        stop(&f);
}

TEST(endless_line) {
        struct fixture f = {.wanted_log = "=0;+ a;"};
        char *line = xmalloc(WATCH_LINE_MAX_BYTES + 100);

        memset(line, ' ', WATCH_LINE_MAX_BYTES + 99);
        line[WATCH_LINE_MAX_BYTES + 99] = '\0';
        list(&f, LIST("10", "", ""));
        answer(&f, "watch=1", scripted_stream(line), false);
        answer(&f, "watch=1&resourceVersion=10&", scripted_stream(EVENT("ADDED", "a", "11")), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 1);
        free(line);
        stop(&f);
}

/* 200 with something else than a list deletes nothing. */
TEST(no_list) {
        struct fixture f = {.wanted_log = "+ a;=1;+ a;=1;"};

        list(&f, LIST("10", "", OBJECT("a", "1")));
        answer(&f, "watch=1", scripted_stream(EXPIRED), false);
        list(&f, "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Success\"}");
        answer(&f, "GET /api/v1/nodes?limit=100&resourceVersion=10", scripted_http(200, "", "{}"),
               false);
        answer(&f, "GET /api/v1/nodes?limit=100&resourceVersion=10",
               scripted_http(200, "", LIST("12", "", OBJECT("a", "1"))), false);
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* Pages past the ceiling are asked for in halves. */
TEST(large_page) {
        enum { PAGE_BYTES = (16 << 20) + 100 };
        struct fixture f = {.wanted_log = "+ a;=1;"};
        char *page = xmalloc(PAGE_BYTES + 1);

        memset(page, ' ', PAGE_BYTES);
        page[PAGE_BYTES] = '\0';
        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(200, "", page), false);
        free(page);
        answer(&f, "GET /api/v1/nodes?limit=50 ",
               scripted_http(200, "", LIST("12", "", OBJECT("a", "1"))), false);
        hold(&f, "12");
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}

/* Two watches that end before anything comes are nothing, nor are more with an event between. */
TEST(closing_at_once) {
        struct fixture f = {.wanted_log = "=0;"};

        list(&f, LIST("10", "", ""));
        answer(&f, "watch=1", scripted_stream(""), false);
        answer(&f, "watch=1", scripted_stream(""), false);
        answer(&f, "watch=1", scripted_stream(BOOKMARK("11")), false);
        answer(&f, "watch=1", scripted_stream(""), false);
        /* 429 as the server throttles, and a connection that breaks before an answer */
        answer(&f, "watch=1", scripted_http(429, "Retry-After: 0\r\n", "Too many requests"), false);
        scripted_add(&f.rig.server, (struct scripted_reply){.expect = {"watch=1"}});
        answer(&f, "watch=1&resourceVersion=11&", scripted_stream(BOOKMARK("12")), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "short") == 4);
        assert_true(restarts(&f, "throttled") == 1);
        assert_true(restarts(&f, "unavailable") == 1);
        stop(&f);
}

/* Three in a row are reported, and each time the list shows what has happened. */
TEST(always_closing_at_once) {
        struct fixture f = {.wanted_log = "=0;+ a;=1;- a;=0;",
                            .wanted_trouble = "watch: ended before"};

        for (int i = 0; i < 2; i++) {
                list(&f, i == 0 ? LIST("10", "", "") : LIST("20", "", OBJECT("a", "15")));
                for (int j = 0; j < 3; j++)
                        answer(&f, "watch=1", scripted_stream(""), false);
        }
        list(&f, LIST("30", "", ""));
        answer(&f, "watch=1&resourceVersion=30&", xstrdup(""), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "short") == 6);
        stop(&f);
}

TEST(forbidden) {
        struct fixture f = {
                .wanted_log = "",
                .wanted_trouble = "list: 403 nodes is forbidden",
        };

        answer(&f, "GET /api/v1/nodes?limit=100 ",
               scripted_http(403, "", "{\"message\":\"nodes is forbidden: no list\"}"), false);
        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_stream(""), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_false(reflector_is_synced(f.reflector));
        stop(&f);
}

/* An API server that has just started answers so, until it has read the roles. */
TEST(forbidden_for_a_moment) {
        struct fixture f = {.wanted_log = "+ a;=1;"};
        int64_t start_ms = clock_mono_ms();

        answer(&f, "GET /api/v1/nodes?limit=100 ", scripted_http(403, "", "{}"), false);
        list(&f, LIST("10", "", OBJECT("a", "1")));
        hold(&f, "10");
        reflect(&f, &(struct reflector_spec){0});
        assert_true(clock_mono_ms() - start_ms < 10000);
        stop(&f);
}

TEST(unusable_objects) {
        struct fixture f = {.wanted_log = "+ a;+ b;=2;- a;+ c;"};

        /* without a name, with an impossible one, and one too many */
        list(&f, LIST("10", "",
                      OBJECT("a", "1") ",{},{\"metadata\":{\"name\":\"\"}},{\"metadata\":{\"name\":"
                                       "7}}," OBJECT("x/y", "1") "," OBJECT("b", "2") "," OBJECT(
                                               "z", "3")));
        answer(&f, "watch=1",
               scripted_stream(EVENT("DELETED", "unknown", "11") EVENT("MODIFIED", "z", "12")
                                       EVENT("DELETED", "a", "13") EVENT("ADDED", "c", "14")),
               true);
        reflect(&f, &(struct reflector_spec){.max_objects = 2});
        assert_true(ignored(&f) == 7);
        stop(&f);
}

/* What has left the watch's selector in the meantime is listed all the same. */
TEST(list_selector) {
        struct fixture f = {.wanted_log = "[;+ old;+ a;=2;"};

        answer(&f, "?fieldSelector=wide&limit=7 ",
               scripted_http(200, "", LIST("10", "", OBJECT("old", "1") "," OBJECT("a", "2"))),
               false);
        answer(&f, "?fieldSelector=narrow&watch=1&resourceVersion=10&", scripted_stream(""), true);
        reflect(&f, &(struct reflector_spec){.field_selector = "narrow",
                                             .list_field_selector = "wide",
                                             .page_limit = 7,
                                             .on_text = on_text,
                                             .on_list_begin = on_list_begin});
        stop(&f);
}

/* As text everything is handed on, no matter who it is; the owner knows what exists. */
TEST(texts) {
        struct fixture f = {
                .wanted_log = "[;+ a;[;+ a;+ ?;+ a;=3;* c;+ a;- b;- x;[;+ d;=1;",
        };

        list(&f, LIST("10", "c", OBJECT("a", "1")));
        answer(&f, "&continue=c ", scripted_http(410, "", "{}"), false);
        list(&f, LIST("10", "", OBJECT("a", "1") ",{}," OBJECT("a", "1")));
        answer(&f, "watch=1&resourceVersion=10&",
               scripted_stream(EVENT("ADDED", "c", "11") EVENT("MODIFIED", "a", "12")
                                       EVENT("DELETED", "b", "13") BOOKMARK("20")),
               false);
        answer(&f, "watch=1&resourceVersion=20&",
               scripted_stream(EVENT("DELETED", "x", "21") EXPIRED), false);
        answer(&f, "resourceVersion=21&resourceVersionMatch=NotOlderThan ",
               scripted_http(200, "", LIST("30", "", OBJECT("d", "25"))), false);
        hold(&f, "30");
        reflect(&f, &(struct reflector_spec){.on_text = on_text, .on_list_begin = on_list_begin});
        assert_true(restarts(&f, "expired") == 1);
        assert_true(objects(&f) == 1);
        stop(&f);
}

/* Deleted more often than they were there. */
TEST(texts_count) {
        struct fixture f = {.wanted_log = "+ a;=1;- a;- a;- a;* b;* c;"};

        list(&f, LIST("10", "", OBJECT("a", "1")));
        answer(&f, "watch=1",
               scripted_stream(EVENT("DELETED", "a", "11") EVENT("DELETED", "a", "12") EVENT(
                       "DELETED", "a", "13") EVENT("ADDED", "b", "14") EVENT("ADDED", "c", "15")),
               true);
        reflect(&f, &(struct reflector_spec){.on_text = on_text});
        assert_true(objects(&f) == 2);
        stop(&f);
}

/* JSON, but of a kind that jansson has no number for: one object is ignored, not the list. */
TEST(beyond_jansson) {
        struct fixture f = {.wanted_log = "+ a;=1;+ b;- a;"};

        list(&f, LIST("10", "", "{\"metadata\":{\"name\":\"x\"},\"n\":1e999}," OBJECT("a", "1")));
        answer(&f, "watch=1",
               scripted_stream(
                       "{\"type\":\"ADDED\",\"object\":{\"n\":1e999,\"metadata\":{"
                       "\"name\":\"x\",\"resourceVersion\":\"11\"}}}\n"
                       "{\"type\":\"DELETED\",\"object\":{\"n\":1e999,\"metadata\":{"
                       "\"name\":\"a\",\"resourceVersion\":\"12\"}}}\n" EVENT(
                               "ADDED", "b",
                               "13") "{\"type\":\"MODIFIED\",\"object\":{\"n\":1e999,\"metadata\":{"
                                     "\"name\":\"a\",\"uid\":\"u-a\",\"resourceVersion\":\"14\"}}}"
                                     "\n" EVENT("DELETED", "a", "15")),
               true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(ignored(&f) == 4);
        stop(&f);
}

/* Freed while the list is on its way. */
TEST(free_under_way) {
        struct fixture f = {.wanted_log = "", .wanted_trouble = "list: not complete yet"};

        scripted_add(
                &f.rig.server,
                (struct scripted_reply){.response = xstrdup("HTTP/1.1 200 OK\r\n"), .holds = true});
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}
