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

static double number_of(const char *words, const char *name) {
        const char *at = strstr(words, name);

        return at ? strtod(at + strlen(name), NULL) : 0;
}

TEST(scripts) {
        struct rows rows = rows_open("reflector-scripts.tsv");

        for (struct fixture f; next_script(&rows, &f);) {
                const char *more = rows.cells[4];
                double ignored = number_of(more, "ignored="), left = number_of(more, "objects=");
                struct reflector_spec spec = {.max_objects = (size_t)number_of(more, "max=")};
                int64_t start_ms = clock_mono_ms();

                if (strstr(more, "text")) {
                        spec.on_text = on_text;
                        spec.on_list_begin = on_list_begin;
                }
                if (strstr(more, "selectors")) {
                        spec.list_field_selector = "wide";
                        spec.field_selector = "narrow";
                        spec.page_limit = 7;
                }
                reflect(&f, &spec);
                check_restarts(&f, rows.cells[3]);
                if (ignored > 0 && events(&f, "ignored") != ignored)
                        fail_msg("%s: %g ignored", f.name, events(&f, "ignored"));
                if (left > 0 && objects(&f) != left)
                        fail_msg("%s: %g objects", f.name, objects(&f));
                assert_true(clock_mono_ms() - start_ms < 10000);
                stop(&f);
        }
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

static char *blanks(size_t count) {
        return xasprintf("%*s", (int)count, "");
}

TEST(endless_line) {
        _cleanup_(freep) char *line = blanks(WATCH_LINE_MAX_BYTES + 100);
        struct fixture f = {.wanted_log = "=0;+ a;"};

        answer(&f, FIRST_LIST, scripted_http(200, "", LIST("10", "", "")), false);
        answer(&f, WATCH("10"), scripted_stream(line), false);
        answer(&f, WATCH("10"), scripted_stream(EVENT("ADDED", "a", "11")), true);
        reflect(&f, &(struct reflector_spec){0});
        assert_true(restarts(&f, "malformed") == 1);
        stop(&f);
}

/* Pages past the ceiling are asked for in halves. */
TEST(large_page) {
        _cleanup_(freep) char *page = blanks((16 << 20) + 100);
        struct fixture f = {.wanted_log = "+ a;=1;"};

        answer(&f, FIRST_LIST, scripted_http(200, "", page), false);
        answer(&f, "GET /api/v1/nodes?limit=50 ",
               scripted_http(200, "", LIST("12", "", OBJECT("a", "1"))), false);
        answer(&f, WATCH("12"), scripted_stream(""), true);
        reflect(&f, &(struct reflector_spec){0});
        stop(&f);
}
