/* List and watch against a server that answers from a script. */
#include "tests/unit/fixture/test.h"

#include "kube/watch_stream.h"
#include "reflected_nodes.h"

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
        spec.on_synced = on_synced;
        begin_reflecting(f, &spec);
        run(f);
}

static double objects(struct fixture *f) {
        return metrics_value(
                metrics_gauge(f->rig.metrics, "plimsoll_objects", "", LABELS("resource", "nodes")));
}

static double events(struct fixture *f, const char *type) {
        return metrics_value(metrics_counter(f->rig.metrics, "plimsoll_watch_events_total", "",
                                             LABELS("resource", "nodes", "type", type)));
}

TEST(pages_then_events) {
        struct fixture f = {.wanted_log = "+ a;+ b;=2;+ c;+ a;- b;"};

        scripted_add(&f.rig.server,
                     (struct scripted_reply){
                             .expect = {"GET /api/v1/nodes?labelSelector=role%3Dworker&limit=100 ",
                                        "\r\nAccept-Encoding: gzip\r\n"},
                             .response = scripted_http(200, "",
                                                       LIST("10", "to/ken", OBJECT("a", "1")))});
        answer(&f, "?labelSelector=role%3Dworker&limit=100&continue=to%2Fken ",
               scripted_http(200, "", LIST("10", "", OBJECT("b", "2"))), false);
        scripted_add(
                &f.rig.server,
                (struct scripted_reply){
                        .expect = {"GET /api/v1/nodes?labelSelector=role%3Dworker&watch=1"
                                   "&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds="},
                        .response = scripted_stream(EVENT("ADDED", "c", "11") EVENT(
                                "MODIFIED", "a", "12") EVENT("DELETED", "b", "13") BOOKMARK("20")),
                        .drips = true});
        /* the bookmark's version is where the next watch goes on */
        answer(&f, WATCH("20"), scripted_stream(""), true);
        reflect(&f, &(struct reflector_spec){.label_selector = "role=worker"});
        assert_true(reflector_is_synced(f.reflector));
        assert_true(restarts(&f, "short") == 1);
        assert_true(objects(&f) == 2);
        assert_true(events(&f, "BOOKMARK") == 1);
        stop(&f);
}

#define A OBJECT("a", "1")
#define B OBJECT("b", "2")
#define UNREADABLE(name, version)                                                                  \
        "{\"n\":1e999,\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                       \
        "\",\"resourceVersion\":\"" version "\"}}"

static const struct {
        const char *name, *log;
        const char *trouble; /* NULL: none is left */
        struct step steps[12];
        struct restart restarts[3];
        double ignored, objects; /* 0: whatever */
        struct reflector_spec spec;
} scripts[] = {
        {"what has changed while nobody watched", "+ a;+ b;+ c;=3;+ a;- c;+ c/u-2;- b;=2;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A "," B "," OBJECT("c", "3"))},
                   {WATCH("10"), STREAM, EXPIRED},
                   {RELIST("10"), 200,
                    LIST("30", "",
                         OBJECT("a", "25") ",{\"metadata\":{\"name\":\"c\",\"uid\":\"u-2\"}}")},
                   {WATCH("30"), STREAM_OPEN, ""}},
         .restarts = {{"expired", 1}}},
        /* The same by HTTP status, from servers that have no newer state either. */
        {"no newer state: 410", "+ a;=1;+ b;- a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), 410, "{}"},
                   {RELIST("10"), 410, "{}"},
                   {FIRST_LIST, 200, LIST("30", "", B)},
                   {WATCH("30"), STREAM_OPEN, ""}}},
        {"no newer state: 504", "+ a;=1;+ b;- a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), 410, "{}"},
                   {RELIST("10"), 504, "{}"},
                   {FIRST_LIST, 200, LIST("30", "", B)},
                   {WATCH("30"), STREAM_OPEN, ""}}},
        {"no newer state: 400", "+ a;=1;+ b;- a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), 410, "{}"},
                   {RELIST("10"), 400, "{}"},
                   {FIRST_LIST, 200, LIST("30", "", B)},
                   {WATCH("30"), STREAM_OPEN, ""}}},
        /* Only an expired token is a reason for larger pages. */
        {"a page that fails", "+ a;+ a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "c", A)},
                   {"&continue=c ", 500, "{}"},
                   {FIRST_LIST, 200, LIST("12", "", A)},
                   {WATCH("12"), STREAM_OPEN, ""}}},
        /* What it has not shown is not gone. */
        {"a relist whose second page expires", "+ a;+ b;=2;+ a;+ a;+ b;=2;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A "," B)},
                   {WATCH("10"), 410, "{}"},
                   {RELIST("10"), 200, LIST("20", "c", A)},
                   {"&continue=c ", 410, "{}"},
                   {"&resourceVersion=10&resourceVersionMatch=NotOlderThan ", 200,
                    LIST("30", "", A "," B)},
                   {WATCH("30"), STREAM_OPEN, ""}}},
        {"200 with something else than a list deletes nothing", "+ a;=1;+ a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), STREAM, EXPIRED},
                   {RELIST("10"), 200,
                    "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Success\"}"},
                   {RELIST("10"), 200, "{}"},
                   {RELIST("10"), 200, LIST("12", "", A)},
                   {WATCH("12"), STREAM_OPEN, ""}}},
        {"a list that is forbidden", "", "list: 403 nodes is forbidden",
         .steps = {{FIRST_LIST, 403, "{\"message\":\"nodes is forbidden: no list\"}"},
                   {FIRST_LIST, STREAM_OPEN, ""}}},
        /* An API server that has just started answers so, until it has read the roles. */
        {"a list that is forbidden for a moment", "+ a;=1;",
         .steps = {{FIRST_LIST, 403, "{}"},
                   {FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), STREAM_OPEN, ""}}},
        /* What a list says is no trouble any more when a list is complete. */
        {"watch and list are refused alike", "=0;=0;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), 400, "{}"},
                   {RELIST("10"), 400, "{}"},
                   {FIRST_LIST, 400, "{}"},
                   {FIRST_LIST, 200, LIST("20", "", "")},
                   {WATCH("20"), RAW_OPEN, ""}},
         .restarts = {{"invalid", 1}}},
        {"freed while the list is on its way", "", "list: not complete yet",
         .steps = {{FIRST_LIST, RAW_OPEN, "HTTP/1.1 200 OK\r\n"}}},
        {"a watch that breaks in a line goes on behind the last whole one", "=0;+ a;+ b;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), CHUNK_CUT,
                    EVENT("ADDED", "a", "11") "{\"type\":\"ADDED\",\"object\":{\"m"},
                   {WATCH("11"), STREAM_OPEN, EVENT("ADDED", "b", "12")}},
         .restarts = {{"reset", 1}}},
        /* It is skipped by listing. A list does not show that watches are good again. */
        {"an event that cannot be read", "+ a;=1;+ b;+ a;+ b;+ c;=3;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), STREAM, EVENT("ADDED", "b", "11") "{\"type\":\"ADDED\"}\n"},
                   {WATCH("11"), STREAM, "<html>\n"},
                   {WATCH("11"), STREAM, "<html>\n"},
                   {WATCH("11"), STREAM, "<html>\n"},
                   {ANY_LIST, 200, LIST("20", "", A "," B "," OBJECT("c", "3"))},
                   {WATCH("20"), STREAM_OPEN, BOOKMARK("21")}},
         .restarts = {{"malformed", 4}}},
        /* Lists go on, each after a pause; that no watch can be opened is reported. */
        {"a version that is always too old", "=0;=0;=0;=0;", "watch: 410 ",
         .steps = {{ANY_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), STREAM, EXPIRED},
                   {ANY_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), 410, "{}"},
                   {ANY_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), STREAM, EXPIRED},
                   {ANY_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), 410, "{}"},
                   {ANY_LIST, RAW_OPEN, ""}},
         .restarts = {{"expired", 4}}},
        /* Two in a row are nothing, nor are more with an event between. */
        {"watches that end before anything comes", "=0;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), STREAM, ""},
                   {WATCH("10"), STREAM, ""},
                   {WATCH("10"), STREAM, BOOKMARK("11")},
                   {WATCH("11"), STREAM, ""},
                   {WATCH("11"), 429, "Too many requests"},
                   {WATCH("11"), CLOSED, NULL},
                   {WATCH("11"), STREAM_OPEN, BOOKMARK("12")}},
         .restarts = {{"short", 4}, {"throttled", 1}, {"unavailable", 1}}},
        /* So are answers that the server does not know the version yet. */
        {"a server that lags behind", "=0;+ a;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), 504, "{}"},
                   {WATCH("10"), 504, "{}"},
                   {WATCH("10"), 504, "{}"},
                   {ANY_LIST, 200, LIST("11", "", A)},
                   {WATCH("11"), STREAM_OPEN, BOOKMARK("12")}},
         .restarts = {{"unavailable", 3}}},
        /* Three in a row are reported, and each time the list shows what has happened. */
        {"watches that always end before anything comes", "=0;+ a;=1;- a;=0;",
         "watch: ended before",
         .steps = {{FIRST_LIST, 200, LIST("10", "", "")},
                   {WATCH("10"), STREAM, ""},
                   {WATCH("10"), STREAM, ""},
                   {WATCH("10"), STREAM, ""},
                   {ANY_LIST, 200, LIST("20", "", A)},
                   {WATCH("20"), STREAM, ""},
                   {WATCH("20"), STREAM, ""},
                   {WATCH("20"), STREAM, ""},
                   {ANY_LIST, 200, LIST("30", "", "")},
                   {WATCH("30"), RAW_OPEN, ""}},
         .restarts = {{"short", 6}}},
        {"objects without a name, with an impossible one, and one too many", "+ a;+ b;=2;- a;+ c;",
         .steps = {{FIRST_LIST, 200,
                    LIST("10", "",
                         A ",{},{\"metadata\":{\"name\":\"\"}},{\"metadata\":{\"name\":"
                           "7}}," OBJECT("x/y", "1") "," B "," OBJECT("z", "3"))},
                   {WATCH("10"), STREAM_OPEN,
                    EVENT("DELETED", "unknown", "11") EVENT("MODIFIED", "z", "12")
                            EVENT("DELETED", "a", "13") EVENT("ADDED", "c", "14")}},
         .ignored = 7, .spec = {.max_objects = 2}},
        /* One object is ignored, not the list. */
        {"JSON of a kind that jansson has no number for", "+ a;=1;+ b;- a;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", UNREADABLE("x", "1") "," A)},
                   {WATCH("10"), STREAM_OPEN,
                    EVENT_OF("ADDED", UNREADABLE("x", "11"))
                            EVENT_OF("DELETED", UNREADABLE("a", "12")) EVENT("ADDED", "b", "13")
                                    EVENT_OF("MODIFIED", UNREADABLE("a", "14"))
                                            EVENT("DELETED", "a", "15")}},
         .ignored = 4},
        /* What has left the watch's selector in the meantime is listed all the same. */
        {"a selector of lists", "[;+ old;+ a;=2;",
         .steps = {{"?fieldSelector=wide&limit=7 ", 200, LIST("10", "", OBJECT("old", "1") "," A)},
                   {"?fieldSelector=narrow&watch=1&resourceVersion=10&", STREAM_OPEN, ""}},
         .spec = {.field_selector = "narrow",
                  .list_field_selector = "wide",
                  .page_limit = 7,
                  .on_text = on_text,
                  .on_list_begin = on_list_begin}},
        /* No matter who it is; the owner knows what exists. */
        {"as text everything is handed on", "[;+ a;[;+ a;+ ?;+ a;=3;* c;+ a;- b;- x;[;+ d;=1;",
         .steps = {{FIRST_LIST, 200, LIST("10", "c", A)},
                   {"&continue=c ", 410, "{}"},
                   {"?limit=400 ", 200, LIST("10", "", A ",{}," A)},
                   {WATCH("10"), STREAM,
                    EVENT("ADDED", "c", "11") EVENT("MODIFIED", "a", "12")
                            EVENT("DELETED", "b", "13") BOOKMARK("20")},
                   {WATCH("20"), STREAM, EVENT("DELETED", "x", "21") EXPIRED},
                   {"resourceVersion=21&resourceVersionMatch=NotOlderThan ", 200,
                    LIST("30", "", OBJECT("d", "25"))},
                   {WATCH("30"), STREAM_OPEN, ""}},
         .restarts = {{"expired", 1}}, .objects = 1,
         .spec = {.on_text = on_text, .on_list_begin = on_list_begin}},
        {"texts that are deleted more often than they were there", "+ a;=1;- a;- a;- a;* b;* c;",
         .steps = {{FIRST_LIST, 200, LIST("10", "", A)},
                   {WATCH("10"), STREAM_OPEN,
                    EVENT("DELETED", "a", "11") EVENT("DELETED", "a", "12")
                            EVENT("DELETED", "a", "13") EVENT("ADDED", "b", "14")
                                    EVENT("ADDED", "c", "15")}},
         .objects = 2, .spec = {.on_text = on_text}},
};

TEST(scripts) {
        for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
                struct fixture f = {.name = scripts[i].name,
                                    .wanted_log = scripts[i].log,
                                    .wanted_trouble = scripts[i].trouble};
                int64_t start_ms = clock_mono_ms();

                add_steps(&f, scripts[i].steps);
                reflect(&f, &scripts[i].spec);
                check_restarts(&f, scripts[i].restarts, ARRAY_LEN(scripts[i].restarts));
                if (scripts[i].ignored > 0 && events(&f, "ignored") != scripts[i].ignored)
                        fail_msg("%s: %g ignored", f.name, events(&f, "ignored"));
                if (scripts[i].objects > 0 && objects(&f) != scripts[i].objects)
                        fail_msg("%s: %g objects", f.name, objects(&f));
                assert_true(clock_mono_ms() - start_ms < 10000);
                stop(&f);
        }
}

/* A list that took too long is tried with larger pages, up to 10,000 objects, and so are relists.
 */
TEST(expired_continue) {
        static const char *const tries[] = {
                "?limit=100 ", "?limit=400 ", "?limit=1600 ", "?limit=6400 ", "?limit=10000 ",
        };
        static const struct step then[] = {
                {"?limit=10000 ", 200, LIST("12", "", A "," B)},
                {WATCH("12"), 410, "{}"},
                {"?limit=10000&resourceVersion=12&", 200, LIST("13", "", A "," B)},
                {WATCH("13"), STREAM_OPEN, ""},
                {0},
        };
        struct fixture f = {.wanted_log = "+ a;+ a;+ a;+ a;+ a;+ a;+ b;=2;+ a;+ b;=2;"};

        for (size_t i = 0; i < ARRAY_LEN(tries); i++)
                add_steps(&f, (const struct step[]){{tries[i], 200, LIST("10", "c", A)},
                                                    {"&continue=c ", 410, "{}"},
                                                    {0}});
        add_steps(&f, then);
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
                                           .response = scripted_http(200, "", LIST("10", "c", A)),
                                   });
                reflect(&f, &(struct reflector_spec){.page_limit = rows[i].limit});
                assert_false(reflector_is_synced(f.reflector));
                stop(&f);
        }
}

static char *blanks(size_t count) {
        return xasprintf("%*s", (int)count, "");
}

TEST(endless_line) {
        _cleanup_(freep) char *line = blanks(WATCH_LINE_MAX_BYTES + 100);
        const struct step steps[] = {
                {FIRST_LIST, 200, LIST("10", "", "")},
                {WATCH("10"), STREAM, line},
                {WATCH("10"), STREAM_OPEN, EVENT("ADDED", "a", "11")},
                {0},
        };
        struct fixture f = {.wanted_log = "=0;+ a;"};

        add_steps(&f, steps);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 1);
        stop(&f);
}

/* Pages past the ceiling are asked for in halves. */
TEST(large_page) {
        _cleanup_(freep) char *page = blanks((16 << 20) + 100);
        const struct step steps[] = {
                {FIRST_LIST, 200, page},
                {"GET /api/v1/nodes?limit=50 ", 200, LIST("12", "", A)},
                {WATCH("12"), STREAM_OPEN, ""},
                {0},
        };
        struct fixture f = {.wanted_log = "+ a;=1;"};

        add_steps(&f, steps);
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
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
                _cleanup_(freep) char *event = xasprintf("{\"type\":\"ERROR\",\"object\":%s}\n",
                                                         rows[i].status);
                const struct step begin[] = {
                        {FIRST_LIST, 200, LIST("10", "", A)}, {WATCH("10"), STREAM, event}, {0}};
                static const struct step listed[] = {{RELIST("10"), 200, LIST("20", "", A)},
                                                     {WATCH("20"), STREAM_OPEN, ""},
                                                     {0}};
                static const struct step watched[] = {{WATCH("10"), STREAM_OPEN, ""}, {0}};
                struct fixture f = {.name = rows[i].status,
                                    .wanted_log = rows[i].is_expired ? "+ a;=1;+ a;=1;" : "+ a;=1;",
                                    .wanted_trouble = rows[i].trouble};

                add_steps(&f, begin);
                add_steps(&f, rows[i].is_expired ? listed : watched);
                reflect(&f, &(struct reflector_spec){0});
                assert_true(restarts(&f, rows[i].is_expired ? "expired" : "error") == 1);
                stop(&f);
        }
}
