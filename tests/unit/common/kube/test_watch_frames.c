/* Watches in protobuf: frames in pieces of every size, and those that are none. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/mem.h"
#include "kube/kube_proto.h"
#include "kube/watch_stream.h"
#include "tests/unit/fixture/proto_encode.h"

/* "ADDED 5 {...};" */
static bool note_event(void *userdata, const struct watch_event *event) {
        (void)buf_printf(userdata, "%s %s ", watch_event_type_name(event->type),
                         event->resource_version ? event->resource_version : "-");
        (void)buf_append(userdata, event->object, event->object_bytes);
        (void)buf_putc(userdata, ';');
        return event->type != WATCH_ERROR;
}

static int decode(const struct buf *data, size_t piece_len, size_t max_bytes, struct buf *log,
                  struct error *err) {
        struct watch_stream stream;
        int r = 0;

        watch_stream_init(&stream, &kube_proto_pod, max_bytes, note_event, log);
        for (size_t at = 0; at < data->len; at += piece_len) {
                size_t n = size_min(piece_len, data->len - at);
                char *piece = xmalloc(n);
                memcpy(piece, data->data + at, n);
                r = watch_stream_feed(&stream, piece, n);
                free(piece);
        }
        if (err)
                *err = stream.failure;
        watch_stream_done(&stream);
        return r;
}

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

#define POD(name, version)                                                                         \
        "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"

TEST(events) {
        static const struct {
                struct event events[3];
                int code;
                const char *log;
        } rows[] = {
                {{{"ADDED", "Pod", "a", "1"},
                  {"MODIFIED", "Pod", "a", "2"},
                  {"DELETED", "Pod", "a", "3"}},
                 0,
                 "ADDED 1 " POD("a", "1") ";MODIFIED 2 " POD("a", "2") ";DELETED 3 " POD("a",
                                                                                         "3") ";"},
                {{{"BOOKMARK", "Pod", NULL, "9"}},
                 0,
                 "BOOKMARK 9 {\"metadata\":{\"resourceVersion\":\"9\"}};"},
                {{{"ERROR", "Status", "too old", NULL}, {"ADDED", "Pod", "a", "1"}},
                 -ECANCELED,
                 "ERROR - {\"message\":\"too old\",\"code\":410};"},
                {{{"ADDED", "Pod", "a", "1"}, {"GROWN", "Pod", "a", "2"}},
                 -EBADMSG,
                 "ADDED 1 " POD("a", "1") ";"},
                {{{"ADDED", "Pod", "a", NULL}}, -EBADMSG, ""}, /* nowhere to go on from */
                {{{"ADDED", "Pod", "a", "\n"}}, -EBADMSG, ""},
                {{{"ADDED", NULL, NULL, NULL}}, -EBADMSG, ""},
                {{{NULL, "Pod", "a", "1"}}, -EBADMSG, ""},
                {{{"\xff\n", "Pod", "a", "1"}}, -EBADMSG, ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);
                for (size_t e = 0; e < 3 && (rows[i].events[e].type || rows[i].events[e].kind); e++)
                        put_event(&data, &rows[i].events[e]);
                for (size_t piece_len = 1; piece_len <= data.len; piece_len++) {
                        struct buf log = BUF_INIT(1 << 16);
                        struct error err = ERROR_NULL;
                        int r = decode(&data, piece_len, WATCH_LINE_MAX_BYTES, &log, &err);
                        if (r != rows[i].code ||
                            strcmp(log.data ? log.data : "", rows[i].log) != 0 ||
                            (r < 0) != (err.msg[0] != '\0'))
                                fail_msg("row %zu in pieces of %zu gave %d '%s' (%s)", i, piece_len,
                                         r, log.data, err.msg);
                        buf_done(&log);
                }
                buf_done(&data);
        }
}

/* Behind a good event; frames with these bodies. */
TEST(refused_frames) {
        static const struct {
                const char *body;
                size_t len;
        } rows[] = {
#define ROW(bytes) bytes, sizeof(bytes) - 1
                {ROW("")},
                {ROW("\x0a\x09"
                     "ADDED")},
                {ROW("\x0a\x05"
                     "ADDED\x12\x02\x0a\x09")},
                {ROW("\x0a\x05"
                     "ADDED\x12\x05\x0a\x03k8s")}, /* no envelope */
                {ROW("\x0a\x05"
                     "ADDED\x12\x06\x0a\x04k8s\x00")}, /* an empty one */
                {ROW("\x0a\x05"
                     "ADDED\x12\x09\x0a\x07k8s\x00\x12\x09x")}, /* a malformed one */
                {ROW("\x0a\x05"
                     "ADDED\x12\x0a\x0a\x08k8s\x00\x12\x02\x08\x01")}, /* metadata is a number */
                {ROW("{\"type\":\"ADDED\"}")},
#undef ROW
        };
        static const struct event good = {"ADDED", "Pod", "a", "1"};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);
                put_event(&data, &good);
                put_frame(&data, rows[i].body, rows[i].len);
                put_event(&data, &good);
                for (size_t piece_len = 1; piece_len <= data.len; piece_len++) {
                        struct buf log = BUF_INIT(1 << 16);
                        struct error err = ERROR_NULL;
                        int r = decode(&data, piece_len, WATCH_LINE_MAX_BYTES, &log, &err);
                        if (r != -EBADMSG || strcmp(log.data, "ADDED 1 " POD("a", "1") ";") != 0)
                                fail_msg("row %zu in pieces of %zu gave %d '%s' (%s)", i, piece_len,
                                         r, log.data, err.msg);
                        buf_done(&log);
                }
                buf_done(&data);
        }
}

/* Fields of other numbers and types, wherever they are, say nothing. */
TEST(other_fields) {
        struct buf body = BUF_INIT(1 << 10), raw = body, object = body, data = body, log = body;

        put_object(&object, &(struct event){"ADDED", "Pod", "a", "1"});
        proto_put_message(&raw, 1, &object);
        proto_put_text(&raw, 2, "x");
        proto_put_int(&raw, 1, 7);
        proto_put_text(&body, 1, "ADDED");
        proto_put_message(&body, 2, &raw);
        proto_put_text(&body, 3, "x");
        proto_put_int(&body, 1, 7);
        proto_put_int(&body, 2, 7);
        put_frame(&data, body.data, body.len);
        assert_int_equal(decode(&data, data.len, WATCH_LINE_MAX_BYTES, &log, NULL), 0);
        assert_string_equal(log.data, "ADDED 1 " POD("a", "1") ";");
        buf_done(&body);
        buf_done(&data);
        buf_done(&log);
}

/* A cut frame is no event, and no fault. */
TEST(cut) {
        struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);

        put_event(&data, &(struct event){"ADDED", "Pod", "a", "1"});
        for (data.len--; data.len > 0; data.len--) {
                struct buf log = BUF_INIT(1 << 10);
                assert_int_equal(decode(&data, 7, WATCH_LINE_MAX_BYTES, &log, NULL), 0);
                assert_int_equal(log.len, 0);
                buf_done(&log);
        }
        buf_done(&data);
}

/* The length is looked at before there is memory for it. */
TEST(ceiling) {
        struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);

        put_event(&data, &(struct event){"ADDED", "Pod", "a", "1"});
        for (size_t piece_len = 1; piece_len <= data.len; piece_len++) {
                struct buf log = BUF_INIT(1 << 10);
                assert_int_equal(decode(&data, piece_len, data.len, &log, NULL), 0);
                assert_int_equal(decode(&data, piece_len, data.len - 1, &log, NULL), -EFBIG);
                assert_string_equal(log.data, "ADDED 1 " POD("a", "1") ";");
                buf_done(&log);
        }
        buf_clear(&data);
        (void)buf_append(&data, "\x00\xff\xff\xff", 4);
        for (size_t piece_len = 1; piece_len <= data.len; piece_len++)
                assert_int_equal(decode(&data, piece_len, WATCH_LINE_MAX_BYTES, NULL, NULL),
                                 -EFBIG);
        buf_done(&data);
}

/* Anybody who asked for protobuf and gets JSON reads JSON. */
TEST(lines) {
        struct buf data = BUF_INIT(1 << 10), log = data;

        (void)buf_puts(&data, "\n{\"type\":\"ADDED\",\"object\":" POD("a", "1") "}\n");
        for (size_t piece_len = 1; piece_len <= data.len; piece_len++) {
                buf_clear(&log);
                assert_int_equal(decode(&data, piece_len, WATCH_LINE_MAX_BYTES, &log, NULL), 0);
                assert_string_equal(log.data, "ADDED 1 " POD("a", "1") ";");
        }
        /* A piece of nothing says nothing of what follows. */
        struct watch_stream stream;
        buf_clear(&log);
        watch_stream_init(&stream, &kube_proto_pod, WATCH_LINE_MAX_BYTES, note_event, &log);
        assert_int_equal(watch_stream_feed(&stream, "", 0), 0);
        assert_int_equal(watch_stream_feed(&stream, data.data, data.len), 0);
        assert_string_equal(log.data, "ADDED 1 " POD("a", "1") ";");
        watch_stream_done(&stream);
        buf_done(&data);
        buf_done(&log);
}
