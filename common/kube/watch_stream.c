#include "kube/watch_stream.h"

#include <errno.h>
#include <string.h>

#include "codec/json.h"
#include "kube/list_page.h"

/* A line's memory is kept from event to event up to this size. */
enum { LINE_KEEP_BYTES = 256 << 10 };

static const char *const type_names[] = {
        [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
        [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
};

const char *watch_event_type_name(enum watch_event_type type) {
        return type_names[type];
}

void watch_stream_init(struct watch_stream *stream, size_t max_line_bytes, watch_event_fn *fn,
                       void *userdata) {
        *stream = (struct watch_stream){
                .line = BUF_INIT(max_line_bytes),
                .fn = fn,
                .userdata = userdata,
        };
}

void watch_stream_done(struct watch_stream *stream) {
        buf_done(&stream->line);
}

static int decode(const json_t *root, struct watch_event *ret, struct error *err) {
        const char *type = json_string_at(root, "type", NULL);
        const json_t *object = json_at(root, "object", NULL);
        const char *version = json_string_at(object, "metadata", "resourceVersion", NULL);

        if (!type)
                return error_set(err, EBADMSG, "watch event without a type");
        for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
                if (strcmp(type, type_names[i]) != 0)
                        continue;
                if (!json_is_object(object))
                        return error_set(err, EBADMSG, "watch event %s without an object", type);
                if (i != WATCH_ERROR &&
                    (!version || !*version || strlen(version) > RESOURCE_VERSION_MAX_BYTES))
                        return error_set(err, EBADMSG,
                                         "watch event %s without a usable resourceVersion", type);
                *ret = (struct watch_event){(enum watch_event_type)i, object, version};
                return 0;
        }
        return error_set(err, EBADMSG, "watch event of unknown type '%.40s'", type);
}

static bool is_blank(const char *line, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
                        return false;
        return true;
}

static int take_line(struct watch_stream *stream, const char *line, size_t len) {
        json_auto_t *root = NULL;
        struct watch_event event;
        struct error *failure = &stream->failure;

        if (len > stream->line.max_bytes)
                return error_set(failure, EFBIG, "watch event exceeds %zu bytes",
                                 stream->line.max_bytes);
        if (is_blank(line, len))
                return 0;
        if (json_parse(line, len, &root, NULL) < 0)
                return error_set(failure, EBADMSG, "watch event is not valid JSON");
        int r = decode(root, &event, failure);
        if (r < 0)
                return r;
        if (!stream->fn(stream->userdata, &event))
                return error_set(failure, ECANCELED, "watch stopped by the event handler");
        return 0;
}

static int feed(struct watch_stream *stream, const char *data, size_t len) {
        while (len > 0) {
                const char *end = memchr(data, '\n', len);
                size_t piece_len = end ? (size_t)(end - data) : len;
                int r = 0;

                /* Most events arrive whole and are decoded where they are. */
                if (!end || stream->line.len > 0) {
                        if (!buf_append(&stream->line, data, piece_len))
                                return error_set(&stream->failure, EFBIG,
                                                 "watch event exceeds %zu bytes",
                                                 stream->line.max_bytes);
                        if (end) {
                                r = take_line(stream, stream->line.data, stream->line.len);
                                if (stream->line.cap > LINE_KEEP_BYTES)
                                        buf_done(&stream->line);
                                else
                                        buf_clear(&stream->line);
                        }
                } else {
                        r = take_line(stream, data, piece_len);
                }
                if (r < 0)
                        return r;
                if (!end)
                        return 0;
                data += piece_len + 1;
                len -= piece_len + 1;
        }
        return 0;
}

int watch_stream_feed(struct watch_stream *stream, const char *data, size_t len,
                      struct error *err) {
        int r = stream->failure.code ? stream->failure.code : feed(stream, data, len);

        if (r < 0 && err)
                *err = stream->failure;
        return r;
}
