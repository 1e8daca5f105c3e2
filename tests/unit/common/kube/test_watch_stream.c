/* The line splitter of watches, and pages of lists taken apart in their text. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/list_page.h"
#include "kube/watch_stream.h"
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
        for (struct rows rows = rows_open("watch-events.tsv"); rows_next(&rows);) {
                size_t len = rows_bytes(rows.cells[2]);
                int code = strcmp(rows.cells[0], "read") == 0    ? 0
                           : strcmp(rows.cells[0], "ended") == 0 ? -ECANCELED
                                                                 : -EBADMSG;
                for (size_t piece_len = 1; piece_len <= len + 1; piece_len++) {
                        struct buf log = BUF_INIT(1 << 16);
                        struct error err = ERROR_NULL;
                        (void)buf_puts(&log, "");
                        int r = decode(rows.cells[2], len, piece_len, WATCH_LINE_MAX_BYTES, &log,
                                       &err);
                        if (r != code || strcmp(log.data, rows.cells[1]) != 0 ||
                            (r < 0) != (err.msg[0] != '\0'))
                                fail_msg("%s in pieces of %zu gave %d '%s' (%s)", rows.place,
                                         piece_len, r, log.data, err.msg);
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
