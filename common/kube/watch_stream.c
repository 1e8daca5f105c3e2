#include "kube/watch_stream.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "codec/proto.h"
#include "codec/skim_fields.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"

enum {
        /* Larger buffers are freed after an event. */
        KEEP_BYTES = 256 << 10,
        FRAME_HEAD_BYTES = 4,
};

static const char *const type_names[] = {
        [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
        [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
};

const char *watch_event_type_name(enum watch_event_type type) {
        return type_names[type];
}

void watch_stream_init(struct watch_stream *stream, const struct proto_message *message,
                       size_t max_line_bytes, watch_event_fn *fn, void *userdata) {
        *stream = (struct watch_stream){
                .message = message,
                .line = BUF_INIT(max_line_bytes),
                .object = BUF_INIT(KUBE_PROTO_MAX_BYTES),
                .fn = fn,
                .userdata = userdata,
        };
}

void watch_stream_done(struct watch_stream *stream) {
        buf_done(&stream->line);
        buf_done(&stream->object);
}

static void empty(struct buf *buf) {
        if (buf->cap > KEEP_BYTES)
                buf_done(buf);
        else
                buf_clear(buf);
}

struct line_object {
        const char *begin, *end; /* NULL: not an object */
        struct skim_string version;
};

/* A skimmed line; missing parts are zero. */
struct line {
        struct skim_string type;
        struct line_object object;
};

static const struct skim_field version_fields[] = {
        {SKIM_ONLY("resourceVersion", struct skim_string), .read = skim_field_text},
        {0},
};

static bool skim_object(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_OBJECT("metadata", struct line_object, version, version_fields),
                {0},
        };
        struct line_object *object = ret;
        const char *begin = skim_peek(skim) == '{' ? skim->at : NULL;

        *object = (struct line_object){.begin = begin};
        bool is_json = skim_fields(skim, fields, object);
        object->end = skim->at;
        return is_json;
}

static bool skim_line(struct line *line, const char *text, size_t len) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("type", struct line, type),
                SKIM_VALUE("object", struct line, object, skim_object),
                {0},
        };
        struct skim skim;

        skim_init(&skim, text, len);
        return skim_peek(&skim) == '{' && skim_fields(&skim, fields, line) && skim_at_end(&skim);
}

static int judge_line(const struct line *line, enum watch_event_type *ret, struct error *err) {
        if (line->type.len == 0)
                return error_set(err, EBADMSG, "watch event without a type");
        for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
                if (!skim_is(&line->type, type_names[i]))
                        continue;
                if (!line->object.begin)
                        return error_set(err, EBADMSG, "watch event %s without an object",
                                         type_names[i]);
                if (i != WATCH_ERROR && (line->object.version.len == 0 ||
                                         line->object.version.len > RESOURCE_VERSION_MAX_BYTES))
                        return error_set(err, EBADMSG,
                                         "watch event %s without a usable resourceVersion",
                                         type_names[i]);
                *ret = (enum watch_event_type)i;
                return 0;
        }
        return error_set(err, EBADMSG, "watch event of unknown type '%.*s'",
                         (int)size_min(line->type.len, 40), line->type.text);
}

static bool is_blank_line(const char *line, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
                        return false;
        return true;
}

static int report_event(struct watch_stream *stream, const struct line *line) {
        char version[RESOURCE_VERSION_MAX_BYTES + 1] = "";
        struct watch_event event = {.type = WATCH_ERROR};
        struct error *failure = &stream->failure;

        int r = judge_line(line, &event.type, failure);
        if (r < 0)
                return r;
        event.object = line->object.begin;
        event.object_bytes = (size_t)(line->object.end - line->object.begin);
        if (event.type != WATCH_ERROR) {
                assert(line->object.version.text); /* judge_line() */
                event.resource_version = memcpy(version, line->object.version.text,
                                                line->object.version.len);
        }
        if (!stream->fn(stream->userdata, &event))
                return error_set(failure, ECANCELED, "watch stopped by the event handler");
        return 0;
}

static int take_watch_line(struct watch_stream *stream, const char *text, size_t len) {
        struct error *failure = &stream->failure;
        struct line line = {0};

        if (len > stream->line.max_bytes)
                return error_set(failure, EFBIG, "watch event exceeds %zu bytes",
                                 stream->line.max_bytes);
        if (is_blank_line(text, len))
                return 0;
        if (!skim_line(&line, text, len))
                return error_set(failure, EBADMSG, "watch event is not valid JSON");
        return report_event(stream, &line);
}

/* ---- Protobuf: frames of a length, 4 bytes and big-endian, and an event. */

/* Reads the event of a frame like a line of JSON. */
static bool read_frame(struct watch_stream *stream, const char *data, size_t len,
                       struct line *ret) {
        struct proto_field event[2], extension[2];
        struct skim skim;

        if (!proto_pair(data, len, event) || !proto_pair(event[1].bytes, event[1].len, extension))
                return false;
        const struct proto_field *type = &event[0], *object = &extension[0];
        ret->type = (struct skim_string){type->bytes, type->len, false};
        if (object->len == 0)
                return true;
        if (!kube_proto_object(&stream->object, stream->message, object->bytes, object->len))
                return false;
        skim_init(&skim, stream->object.data, stream->object.len);
        return skim_object(&skim, &ret->object);
}

static int take_frame(struct watch_stream *stream, const char *data, size_t len) {
        struct line line = {0};

        int r = read_frame(stream, data, len, &line)
                        ? report_event(stream, &line)
                        : error_set(&stream->failure, EBADMSG,
                                    "watch event is not valid protobuf, or too large");
        empty(&stream->object);
        return r;
}

static size_t frame_bytes(const char *head) {
        const unsigned char *at = (const unsigned char *)head;

        return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* ---- Records: lines or frames. */

struct piece {
        size_t bytes; /* of the data that belong to the current record */
        bool is_last; /* the record ends there */
};

static struct piece line_piece(const char *data, size_t len) {
        const char *end = memchr(data, '\n', len);

        return (struct piece){end ? (size_t)(end - data) : len, end};
}

/* The head itself may be split. */
static struct piece frame_piece(const struct buf *partial, const char *data, size_t len) {
        size_t head_partial = size_min(partial->len, FRAME_HEAD_BYTES);
        size_t head_more = size_min(FRAME_HEAD_BYTES - head_partial, len);
        char head[FRAME_HEAD_BYTES];

        if (head_partial > 0)
                memcpy(head, partial->data, head_partial);
        memcpy(head + head_partial, data, head_more);
        if (head_partial + head_more < FRAME_HEAD_BYTES)
                return (struct piece){len, false};
        size_t size = FRAME_HEAD_BYTES + frame_bytes(head);
        if (size > partial->max_bytes)
                return (struct piece){SIZE_MAX, false}; /* fails at once */
        return (struct piece){size_min(size - partial->len, len), size - partial->len <= len};
}

static int take_record(struct watch_stream *stream, const char *data, size_t len) {
        return stream->is_framed
                       ? take_frame(stream, data + FRAME_HEAD_BYTES, len - FRAME_HEAD_BYTES)
                       : take_watch_line(stream, data, len);
}

static int take_piece(struct watch_stream *stream, const char *data, struct piece piece) {
        struct buf *partial = &stream->line;

        if (partial->len == 0 && piece.is_last) /* most records are whole, and are not copied */
                return take_record(stream, data, piece.bytes);
        if (!buf_append(partial, data, piece.bytes))
                return error_set(&stream->failure, EFBIG, "watch event exceeds %zu bytes",
                                 partial->max_bytes);
        if (!piece.is_last)
                return 0;
        int r = take_record(stream, partial->data, partial->len);
        empty(partial);
        return r;
}

/* A frame has less than 16 MiB: its first byte is 0, which JSON never begins with. */
int watch_stream_feed(struct watch_stream *stream, const char *data, size_t len) {
        if (stream->failure.code)
                return stream->failure.code;
        if (!stream->has_begun && len > 0) {
                stream->has_begun = true;
                stream->is_framed = stream->message && data[0] == '\0';
        }
        while (len > 0) {
                struct piece piece = stream->is_framed ? frame_piece(&stream->line, data, len)
                                                       : line_piece(data, len);
                int r = take_piece(stream, data, piece);
                if (r < 0)
                        return r;
                size_t taken = piece.bytes + (piece.is_last && !stream->is_framed); /* "\n" */
                data += taken;
                len -= taken;
        }
        return 0;
}
