/* The line splitter of watches, and pages of lists taken apart in their text. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/list_page.h"
#include "kube/watch_stream.h"

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

static int decode(const char *text, size_t len, size_t piece_len, size_t max_line_bytes,
                  struct buf *log, struct error *err) {
        struct watch_stream stream;
        int r = 0;

        watch_stream_init(&stream, NULL, max_line_bytes, note_event, log);
        for (size_t at = 0; at < len; at += piece_len) {
                size_t n = size_min(piece_len, len - at);
                char *piece = xmemdup0(text + at, n);
                r = watch_stream_feed(&stream, piece, n);
                free(piece);
        }
        if (err)
                *err = stream.failure;
        watch_stream_done(&stream);
        return r;
}

#define OBJECT(name, version)                                                                      \
        "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"

TEST(events) {
        static const struct {
                const char *text;
                int code;
                const char *log;
        } rows[] = {
                {"", 0, ""},
                {"\n\r\n \t \n", 0, ""},
                {EVENT("ADDED", "a", "1") EVENT("MODIFIED", "a", "2") EVENT("DELETED", "a", "3"), 0,
                 "ADDED a 1;MODIFIED a 2;DELETED a 3;"},
                /* a bookmark has no name */
                {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\","
                 "\"creationTimestamp\":null}}}\n",
                 0, "BOOKMARK - 9;"},
                /* a cut line is no event, and no fault */
                {EVENT("ADDED", "a", "1") "{\"type\":\"ADDED\",\"object\":{", 0, "ADDED a 1;"},
                {"{\"type\":\"ADDED\",\"object\":" OBJECT("a", "1") "}\r\n", 0, "ADDED a 1;"},
                {"{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n" EVENT("ADDED", "a", "1"),
                 -ECANCELED, "ERROR - -;"},
                /* members in any order, others next to them; the last one counts */
                {"{\"object\":{\"spec\":{\"metadata\":1},\"metadata\":{\"resourceVersion\":\"7\","
                 "\"name\":\"a\"}},\"x\":[{}],\"type\":\"GROWN\",\"type\":\"DELETED\"}\n",
                 0, "DELETED a 7;"},
                {"{\"type\":\"ADDED\",\"object\":" OBJECT("a", "1") ",\"object\":" OBJECT(
                         "b", "2") "}\n",
                 0, "ADDED b 2;"},
                {"{\"type\":\"ADDED\",\"object\":" OBJECT("a", "1") ",\"object\":null}\n", -EBADMSG,
                 ""},
                {EVENT("ADDED", "a", "\\u0031"), -EBADMSG, ""}, /* would need decoding */
                {"<html>\n", -EBADMSG, ""},
                {"null\n", -EBADMSG, ""},
                {"{}\n", -EBADMSG, ""},
                {EVENT("ADDED", "a", "1") "x\n" EVENT("ADDED", "b", "2"), -EBADMSG, "ADDED a 1;"},
                {"{\"type\":\"ADDED\"}\n", -EBADMSG, ""},
                {"{\"type\":\"ADDED\",\"object\":[]}\n", -EBADMSG, ""},
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":1}}\n", -EBADMSG, ""},
                /* what is no value, wherever it is */
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":x}}}\n",
                 -EBADMSG, ""},
                {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"a\":x}}}\n", -EBADMSG, ""},
                {"{\"type\":\"ADDED\",\"object\":{\"a\":x}}\n", -EBADMSG, ""},
                {"{\"type\":01}\n", -EBADMSG, ""},
                {"{\"type\":7,\"object\":" OBJECT("a", "1") "}\n", -EBADMSG, ""},
                {EVENT("GROWN", "a", "1"), -EBADMSG, ""},
                {EVENT("ADDED", "a", ""), -EBADMSG, ""}, /* nowhere to go on from */
                {EVENT("ADDED", "a", "1") "{} {}\n", -EBADMSG, "ADDED a 1;"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t len = strlen(rows[i].text);
                for (size_t piece_len = 1; piece_len <= len + 1; piece_len++) {
                        struct buf log = BUF_INIT(1 << 16);
                        struct error err = ERROR_NULL;
                        int r = decode(rows[i].text, len, piece_len, WATCH_LINE_MAX_BYTES, &log,
                                       &err);
                        if (r != rows[i].code ||
                            strcmp(log.data ? log.data : "", rows[i].log) != 0 ||
                            (r < 0) != (err.msg[0] != '\0'))
                                fail_msg("row %zu in pieces of %zu gave %d '%s' (%s)", i, piece_len,
                                         r, log.data, err.msg);
                        buf_done(&log);
                }
        }
}

TEST(line_ceiling) {
        static const char line[] = EVENT("ADDED", "a", "1");
        enum { LINE_LEN = sizeof(line) - 2 };
        struct error err = ERROR_NULL;

        for (size_t piece_len = 1; piece_len <= LINE_LEN + 1; piece_len++) {
                struct buf log = BUF_INIT(1 << 10);
                assert_int_equal(decode(line, LINE_LEN + 1, piece_len, LINE_LEN, &log, &err), 0);
                assert_string_equal(log.data, "ADDED a 1;");
                assert_int_equal(decode(line, LINE_LEN + 1, piece_len, LINE_LEN - 1, &log, &err),
                                 -EFBIG);
                assert_string_equal(log.data, "ADDED a 1;");
                buf_done(&log);
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
        static const struct {
                const char *text;
                int code;
                const char *names;
                const char *next;
        } rows[] = {
                {LIST("[]", VERSION), 0, "", NULL},
                {LIST("null", VERSION), 0, "", NULL}, /* Go's nil slice */
                {LIST("[" OBJECT("a", "1") "," OBJECT("b", "2") "]", VERSION), 0, "a;b;", NULL},
                {LIST(" [ " OBJECT("a", "1") " , {} ] ", VERSION ",\"continue\":\"c\""), 0, "a;-;",
                 "c"},
                {LIST("[]", VERSION ",\"continue\":\"\""), 0, "", NULL},
                {"{\"items\":[{\"metadata\":{\"name\":\"]}\\\"\"}}],\"kind\":\"XList\","
                 "\"metadata\":{" VERSION "}}",
                 0, "]}\";", NULL},
                /* inner items are no items */
                {"{\"kind\":\"XList\",\"metadata\":{" VERSION ",\"items\":[1]},\"items\":[{}]}", 0,
                 "-;", NULL},
                {"", -EBADMSG, "", NULL},
                {"[]", -EBADMSG, "", NULL},
                {"{}", -EBADMSG, "", NULL},
                {LIST("[]", ""), -EBADMSG, "", NULL}, /* no version */
                {LIST("[]", "\"resourceVersion\":7"), -EBADMSG, "", NULL},
                {LIST("[]", "\"resourceVersion\":\"\""), -EBADMSG, "", NULL},
                {LIST("[]", VERSION ",\"n\":1e999"), 0, "",
                 NULL}, /* what is not read is any JSON */
                {LIST("[]", "\"resourceVersion\":\"\\u0037\",\"continue\":\"\\u0063\\u003d\""), 0,
                 "", "c="},
                {LIST("[]", VERSION ",\"continue\":\"\\u0000\""), -EBADMSG, "", NULL},
                {LIST("{}", VERSION), -EBADMSG, "", NULL},
                {LIST("[1]", VERSION), -EBADMSG, "", NULL},
                /* what stands before a fault has been handed on */
                {LIST("[{}", VERSION), -EBADMSG, "-;", NULL},
                {LIST("[{},]", VERSION), -EBADMSG, "-;", NULL},
                {LIST("[{} {}]", VERSION), -EBADMSG, "-;", NULL},
                {LIST("[{]}", VERSION), -EBADMSG, "", NULL},
                {LIST("[}", VERSION), -EBADMSG, "", NULL},
                {LIST("[{}]", VERSION) "x", -EBADMSG, "-;", NULL},
                {"{\"items\":[{}],\"kind\":\"Status\",\"metadata\":{" VERSION "}}", -EBADMSG, "-;",
                 NULL},
                {LIST("[{\"a\":01}]", VERSION), -EBADMSG, "", NULL},
                {LIST("[{\"a\":\"\xff\"}]", VERSION), -EBADMSG, "", NULL},
                {LIST("[]", VERSION ",,"), -EBADMSG, "", NULL},
                {LIST("[]", "\"resourceVersion\" \"7\""), -EBADMSG, "", NULL},
                {"{\"kind\":\"XList\",\"metadata\":{" VERSION "},\"it\\u0065ms\":[{}]}", 0, "-;",
                 NULL},
                /* none of these is an empty list */
                {"{\"kind\":\"NodeList\",\"metadata\":{" VERSION "}}", -EBADMSG, "", NULL},
                {"{\"kind\":\"Status\",\"metadata\":{" VERSION "},\"items\":[]}", -EBADMSG, "",
                 NULL},
                {"{\"kind\":\"XList\",\"metadata\":{" VERSION "},\"items\":[],\"items\":[]}",
                 -EBADMSG, "", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf log = BUF_INIT(1 << 10);
                struct error err = ERROR_NULL;
                struct list_page page = {.resource_version = NULL, .count = 42};
                size_t len = strlen(rows[i].text);
                char *text = malloc(len ? len : 1); /* exactly, for the sanitizer's sake */
                memcpy(text, rows[i].text, len);
                int r = list_page_parse(text, len, NULL, note_item, &log, &page, &err);
                free(text);
                if (r != rows[i].code || strcmp(log.data ? log.data : "", rows[i].names) != 0)
                        fail_msg("row %zu gave %d '%s' (%s)", i, r, log.data, err.msg);
                if (r < 0) {
                        assert_int_equal(page.count, 42);
                        assert_string_not_equal(err.msg, "");
                } else {
                        assert_string_equal(page.resource_version, "7");
                        assert_string_equal(page.continue_token ? page.continue_token : "",
                                            rows[i].next ? rows[i].next : "");
                        list_page_done(&page);
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
                        decode(event, strlen(event), 100, WATCH_LINE_MAX_BYTES, &log, NULL),
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
