/* Watches in lines of JSON and in frames of protobuf, in pieces of every size, and pages of lists
 * taken apart in their text. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"
#include "kube/watch_stream.h"
#include "tests/unit/fixture/proto_encode.h"
#include "tests/unit/fixture/rows.h"

/* Events as text: "ADDED a 5;" */
static bool note_event(void *userdata, const struct watch_event *event) {
        json_auto_t *object = NULL;

        assert_int_equal(json_parse(event->object, event->object_bytes, &object, NULL), 0);
        const char *name = json_string_at(object, "metadata", "name", NULL);
        (void)buf_printf(userdata, "%s %s %s;", watch_event_type_name(event->type),
                         name ? name : "-",
                         event->resource_version ? event->resource_version : "-");
        return event->type != WATCH_ERROR;
}

static int decode(const struct proto_message *message, const char *data, size_t len,
                  size_t piece_len, size_t max_bytes, struct buf *log, struct error *err) {
        struct watch_stream stream;
        int r = 0;

        watch_stream_init(&stream, message, max_bytes, note_event, log);
        for (size_t at = 0; at < len; at += piece_len) {
                size_t n = size_min(piece_len, len - at);
                char *piece = xmalloc(n); /* exactly, for the sanitizer's sake */
                memcpy(piece, data + at, n);
                r = watch_stream_feed(&stream, piece, n);
                free(piece);
        }
        if (err)
                *err = stream.failure;
        watch_stream_done(&stream);
        return r;
}

/* In pieces of every size, and in one that holds all of it. */
static void check_pieces(const char *place, const struct proto_message *message, const char *data,
                         size_t len, int code, const char *expected) {
        for (size_t piece_len = 1; piece_len <= len + 1; piece_len++) {
                _cleanup_(buf_done) struct buf log = BUF_INIT(1 << 16);
                struct error err = ERROR_NULL;
                (void)buf_puts(&log, "");
                int r = decode(message, data, len, piece_len, WATCH_LINE_MAX_BYTES, &log, &err);
                if (r != code || strcmp(log.data, expected) != 0 || (r < 0) != (err.msg[0] != '\0'))
                        fail_msg("%s in pieces of %zu gave %d '%s' (%s)", place, piece_len, r,
                                 log.data, err.msg);
        }
}

static int code_of(const char *word) {
        return strcmp(word, "read") == 0 ? 0 : strcmp(word, "ended") == 0 ? -ECANCELED : -EBADMSG;
}

#define OBJECT(name, version)                                                                      \
        "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"

TEST(lines) {
        for (struct rows rows = rows_open("watch-events.tsv"); rows_next(&rows);) {
                size_t len = rows_bytes(rows.cells[2]);
                check_pieces(rows.place, NULL, rows.cells[2], len, code_of(rows.cells[0]),
                             rows.cells[1]);
        }
}

/* What a large event took is given back. */
TEST(large_event) {
        enum { LARGE_BYTES = 300 << 10 };
        struct buf log = BUF_INIT(1 << 10), line = BUF_INIT(1 << 20);
        struct watch_stream stream;

        (void)buf_printf(&line, "{\"x\":\"%*s\",", LARGE_BYTES, "");
        (void)buf_puts(&line, "\"type\":\"ADDED\",\"object\":" OBJECT("a", "1") "}\n");
        watch_stream_init(&stream, NULL, WATCH_LINE_MAX_BYTES, note_event, &log);
        assert_int_equal(watch_stream_feed(&stream, line.data, line.len - 1), 0);
        assert_true(stream.line.cap > LARGE_BYTES);
        assert_int_equal(watch_stream_feed(&stream, "\n", 1), 0);
        assert_string_equal(log.data, "ADDED a 1;");
        assert_int_equal(stream.line.cap, 0);
        watch_stream_done(&stream);
        buf_done(&line);
        buf_done(&log);
}

/* ---- Frames of protobuf. */

static void put_frame(struct buf *out, const void *body, size_t len) {
        const char head[] = {(char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len};

        (void)buf_append(out, head, sizeof(head));
        (void)buf_append(out, body, len);
}

/* A row's event; what is NULL is missing. */
struct event {
        const char *type, *kind, *name, *version;
};

static void put_object(struct buf *out, const struct event *event) {
        struct buf metadata = BUF_INIT(PROTO_TEST_MAX_BYTES), object = metadata;

        if (strcmp(event->kind, "Status") == 0) {
                proto_put_text(&object, 3, event->name);
                proto_put_int(&object, 6, 410);
        } else {
                if (event->name)
                        proto_put_text(&metadata, 1, event->name);
                if (event->version)
                        proto_put_text(&metadata, 6, event->version);
                proto_put_message(&object, 1, &metadata);
        }
        proto_put_envelope(out, event->kind, object.data, object.len);
        buf_done(&object);
}

static void put_event(struct buf *out, const struct event *event) {
        struct buf body = BUF_INIT(PROTO_TEST_MAX_BYTES), raw = body, object = body;

        if (event->type)
                proto_put_text(&body, 1, event->type);
        if (event->kind) {
                put_object(&object, event);
                proto_put_message(&raw, 1, &object);
                proto_put_message(&body, 2, &raw);
        }
        put_frame(out, body.data, body.len);
        buf_done(&body);
}

#define GOOD                                                                                       \
        { "ADDED", "Pod", "a", "1" }

static const struct event good = GOOD;

TEST(frames) {
        static const struct {
                struct event events[3];
                int code;
                const char *log;
        } rows[] = {
                {{GOOD, {"MODIFIED", "Pod", "a", "2"}, {"DELETED", "Pod", "a", "3"}},
                 0,
                 "ADDED a 1;MODIFIED a 2;DELETED a 3;"},
                {{{"BOOKMARK", "Pod", NULL, "9"}}, 0, "BOOKMARK - 9;"},
                {{{"ERROR", "Status", "too old", NULL}, GOOD}, -ECANCELED, "ERROR - -;"},
                {{GOOD, {"GROWN", "Pod", "a", "2"}}, -EBADMSG, "ADDED a 1;"},
                {{{"ADDED", "Pod", "a", NULL}}, -EBADMSG, ""}, /* nowhere to go on from */
                {{{"ADDED", "Pod", "a", "\n"}}, -EBADMSG, ""},
                {{{"ADDED", NULL, NULL, NULL}}, -EBADMSG, ""},
                {{{NULL, "Pod", "a", "1"}}, -EBADMSG, ""},
                {{{"\xff\n", "Pod", "a", "1"}}, -EBADMSG, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(buf_done) struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);
                _cleanup_(freep) char *place = xasprintf("row %zu", i);
                for (size_t e = 0; e < 3 && (rows[i].events[e].type || rows[i].events[e].kind); e++)
                        put_event(&data, &rows[i].events[e]);
                check_pieces(place, &kube_proto_pod, data.data, data.len, rows[i].code,
                             rows[i].log);
        }
}

/* Behind a good event; frames with these bodies. */
TEST(refused_frames) {
        for (struct rows rows = rows_open("watch-frames.tsv"); rows_next(&rows);) {
                _cleanup_(buf_done) struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);
                put_event(&data, &good);
                put_frame(&data, rows.cells[1], rows_bytes(rows.cells[1]));
                put_event(&data, &good);
                check_pieces(rows.place, &kube_proto_pod, data.data, data.len, -EBADMSG,
                             "ADDED a 1;");
        }
}

/* Fields of other numbers and types, wherever they are, say nothing. */
TEST(other_fields) {
        struct buf body = BUF_INIT(1 << 10), raw = body, object = body, data = body, log = body;

        put_object(&object, &good);
        proto_put_message(&raw, 1, &object);
        proto_put_text(&raw, 2, "x");
        proto_put_int(&raw, 1, 7);
        proto_put_text(&body, 1, "ADDED");
        proto_put_message(&body, 2, &raw);
        proto_put_text(&body, 3, "x");
        proto_put_int(&body, 1, 7);
        proto_put_int(&body, 2, 7);
        put_frame(&data, body.data, body.len);
        assert_int_equal(decode(&kube_proto_pod, data.data, data.len, data.len,
                                WATCH_LINE_MAX_BYTES, &log, NULL),
                         0);
        assert_string_equal(log.data, "ADDED a 1;");
        buf_done(&body);
        buf_done(&data);
        buf_done(&log);
}

/* A cut frame is no event, and no fault. */
TEST(cut_frames) {
        _cleanup_(buf_done) struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);

        put_event(&data, &good);
        for (data.len--; data.len > 0; data.len--) {
                struct buf log = BUF_INIT(1 << 10);
                assert_int_equal(decode(&kube_proto_pod, data.data, data.len, 7,
                                        WATCH_LINE_MAX_BYTES, &log, NULL),
                                 0);
                assert_int_equal(log.len, 0);
                buf_done(&log);
        }
}

/* Of a line without its end, and of a frame, whose length is looked at before there is memory for
 * it.
 */
TEST(ceilings) {
        static const char line[] = EVENT("ADDED", "a", "1"), large[] = "\x00\xff\xff\xff";
        static const char logged[] = "ADDED a 1;";
        _cleanup_(buf_done) struct buf frame = BUF_INIT(PROTO_TEST_MAX_BYTES);

        put_event(&frame, &good);
        const struct {
                const struct proto_message *message;
                const char *data;
                size_t len, max_bytes;
        } rows[] = {
                {NULL, line, sizeof(line) - 1, sizeof(line) - 2},
                {&kube_proto_pod, frame.data, frame.len, frame.len},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (size_t piece_len = 1; piece_len <= rows[i].len; piece_len++)
                        for (size_t less = 0; less < 2; less++) {
                                _cleanup_(buf_done) struct buf log = BUF_INIT(1 << 10);
                                (void)buf_puts(&log, "");
                                int r = decode(rows[i].message, rows[i].data, rows[i].len,
                                               piece_len, rows[i].max_bytes - less, &log, NULL);
                                assert_int_equal(r, less ? -EFBIG : 0);
                                assert_string_equal(log.data, less ? "" : logged);
                        }
        for (size_t piece_len = 1; piece_len <= sizeof(large) - 1; piece_len++)
                assert_int_equal(decode(&kube_proto_pod, large, sizeof(large) - 1, piece_len,
                                        WATCH_LINE_MAX_BYTES, NULL, NULL),
                                 -EFBIG);
}

/* Anybody who asked for protobuf and gets JSON reads JSON; a piece of nothing says nothing of what
 * follows. */
TEST(lines_after_all) {
        static const char line[] = "\n" EVENT("ADDED", "a", "1");
        static const char logged[] = "ADDED a 1;";
        _cleanup_(buf_done) struct buf log = BUF_INIT(1 << 10);
        struct watch_stream stream;

        check_pieces("a line", &kube_proto_pod, line, strlen(line), 0, logged);
        watch_stream_init(&stream, &kube_proto_pod, WATCH_LINE_MAX_BYTES, note_event, &log);
        assert_int_equal(watch_stream_feed(&stream, "", 0), 0);
        assert_int_equal(watch_stream_feed(&stream, line, strlen(line)), 0);
        assert_string_equal(log.data, logged);
        watch_stream_done(&stream);
}

/* ---- Pages of lists. */

static void note_item(void *userdata, const char *text, size_t len) {
        json_auto_t *object = NULL;

        assert_int_equal(json_parse(text, len, &object, NULL), 0);
        const char *name = json_string_at(object, "metadata", "name", NULL);
        (void)buf_printf(userdata, "%s;", name ? name : "-");
}

#define LIST(items, metadata)                                                                      \
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{" metadata                     \
        "},\"items\":" items "}"
#define VERSION "\"resourceVersion\":\"7\""

TEST(list_page) {
        for (struct rows rows = rows_open("list-pages.tsv"); rows_next(&rows);) {
                struct buf log = BUF_INIT(1 << 10);
                struct error err = ERROR_NULL;
                struct list_page page = {.resource_version = NULL, .count = 42};
                size_t len = rows_bytes(rows.cells[3]);
                bool is_read = strcmp(rows.cells[0], "read") == 0;
                char *text = xmalloc(len); /* exactly, for the sanitizer's sake */
                if (len > 0)
                        memcpy(text, rows.cells[3], len);
                (void)buf_puts(&log, "");
                int r = list_page_parse(text, len, NULL, note_item, &log, &page, &err);
                free(text);
                if (r != (is_read ? 0 : -EBADMSG) || strcmp(log.data, rows.cells[1]) != 0)
                        fail_msg("%s gave %d '%s' (%s)", rows.place, r, log.data, err.msg);
                if (is_read) {
                        assert_string_equal(page.resource_version, "7");
                        assert_string_equal(page.continue_token ? page.continue_token : "",
                                            rows.cells[2]);
                        list_page_done(&page);
                } else {
                        assert_int_equal(page.count, 42);
                        assert_string_not_equal(err.msg, "");
                }
                buf_done(&log);
        }
}

/* A page cut off anywhere is never taken for a shorter one. */
TEST(list_page_cut) {
        static const char text[] = LIST("[" OBJECT("a", "1") "," OBJECT("b", "2") "]",
                                        VERSION ",\"continue\":\"c\"");

        for (size_t len = 0; len < sizeof(text) - 1; len++) {
                struct buf log = BUF_INIT(1 << 10);
                struct list_page page;
                assert_int_equal(list_page_parse(text, len, NULL, note_item, &log, &page, NULL),
                                 -EBADMSG);
                buf_done(&log);
        }
}

/* What would go into the next request's URL has a ceiling. */
TEST(long_versions) {
        char version[RESOURCE_VERSION_MAX_BYTES + 2] = {0};
        struct list_page page = {0};

        for (size_t len = RESOURCE_VERSION_MAX_BYTES; len < sizeof(version); len++) {
                bool ok = len <= RESOURCE_VERSION_MAX_BYTES;
                struct buf log = BUF_INIT(1 << 16);
                memset(version, '7', len);
                char *event = xasprintf("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
                                        "{\"resourceVersion\":\"%s\"}}}\n",
                                        version);
                char *list = xasprintf(
                        "{\"kind\":\"XList\",\"metadata\":{\"resourceVersion\":\"%s\"},"
                        "\"items\":[]}",
                        version);
                assert_int_equal(
                        decode(NULL, event, strlen(event), 100, WATCH_LINE_MAX_BYTES, &log, NULL),
                        ok ? 0 : -EBADMSG);
                assert_int_equal(
                        list_page_parse(list, strlen(list), NULL, note_item, &log, &page, NULL),
                        ok ? 0 : -EBADMSG);
                list_page_done(&page);
                free(event);
                free(list);
                buf_done(&log);
        }
        char *next = xmalloc(CONTINUE_TOKEN_MAX_BYTES + 2);
        memset(next, 'c', CONTINUE_TOKEN_MAX_BYTES + 1);
        next[CONTINUE_TOKEN_MAX_BYTES + 1] = '\0';
        char *list = xasprintf("{\"kind\":\"XList\",\"metadata\":{\"resourceVersion\":\"1\","
                               "\"continue\":\"%s\"},\"items\":[]}",
                               next);
        assert_int_equal(list_page_parse(list, strlen(list), NULL, note_item, NULL, &page, NULL),
                         -EBADMSG);
        free(next);
        free(list);
}
