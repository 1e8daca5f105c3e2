#include "kube/watch_stream.h"

#include <errno.h>
#include <string.h>

#include "codec/skim.h"
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

static const struct skim_string no_text = {"", 0, false};

/* A line as it is skimmed; no_text and NULL are what it does not say. */
struct line {
        struct skim_string type, version;
        const char *object, *object_end;
};

static bool skim_metadata(struct skim *skim, struct skim_string *ret_version) {
        struct skim_string key;
        enum skim_step step;

        *ret_version = no_text;
        if (skim_peek(skim) != '{')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;)
                if (!(skim_is(&key, "resourceVersion") ? skim_plain_text(skim, ret_version)
                                                       : skim_value(skim)))
                        return false;
        return step == SKIM_END;
}

static bool skim_object(struct skim *skim, struct line *line) {
        const char *begin = skim->at;
        struct skim_string key;
        enum skim_step step;

        line->object = NULL;
        line->version = no_text;
        if (skim_peek(skim) != '{')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;)
                if (!(skim_is(&key, "metadata") ? skim_metadata(skim, &line->version)
                                                : skim_value(skim)))
                        return false;
        line->object = begin;
        line->object_end = skim->at;
        return step == SKIM_END;
}

static bool skim_line(struct line *line, const char *text, size_t len) {
        struct skim_string key;
        enum skim_step step;
        struct skim skim;

        skim_init(&skim, text, len);
        if (skim_peek(&skim) != '{')
                return false;
        for (skim_enter(&skim); (step = skim_member(&skim, &key)) == SKIM_MORE;) {
                bool ok = skim_is(&key, "type")     ? skim_plain_text(&skim, &line->type)
                          : skim_is(&key, "object") ? skim_object(&skim, line)
                                                    : skim_value(&skim);
                if (!ok)
                        return false;
        }
        return step == SKIM_END && skim_at_end(&skim);
}

static int judge_line(const struct line *line, enum watch_event_type *ret, struct error *err) {
        if (line->type.len == 0)
                return error_set(err, EBADMSG, "watch event without a type");
        for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
                if (!skim_is(&line->type, type_names[i]))
                        continue;
                if (!line->object)
                        return error_set(err, EBADMSG, "watch event %s without an object",
                                         type_names[i]);
                if (i != WATCH_ERROR &&
                    (line->version.len == 0 || line->version.len > RESOURCE_VERSION_MAX_BYTES))
                        return error_set(err, EBADMSG,
                                         "watch event %s without a usable resourceVersion",
                                         type_names[i]);
                *ret = (enum watch_event_type)i;
                return 0;
        }
        return error_set(err, EBADMSG, "watch event of unknown type '%.*s'",
                         (int)size_min(line->type.len, 40), line->type.text);
}

static bool is_blank(const char *line, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
                        return false;
        return true;
}

static int take_line(struct watch_stream *stream, const char *text, size_t len) {
        char version[RESOURCE_VERSION_MAX_BYTES + 1] = "";
        struct watch_event event = {.type = WATCH_ERROR};
        struct error *failure = &stream->failure;
        struct line line = {.type = no_text, .version = no_text};

        if (len > stream->line.max_bytes)
                return error_set(failure, EFBIG, "watch event exceeds %zu bytes",
                                 stream->line.max_bytes);
        if (is_blank(text, len))
                return 0;
        if (!skim_line(&line, text, len))
                return error_set(failure, EBADMSG, "watch event is not valid JSON");
        int r = judge_line(&line, &event.type, failure);
        if (r < 0)
                return r;
        event.object = line.object;
        event.object_bytes = (size_t)(line.object_end - line.object);
        if (event.type != WATCH_ERROR)
                event.resource_version = memcpy(version, line.version.text, line.version.len);
        if (!stream->fn(stream->userdata, &event))
                return error_set(failure, ECANCELED, "watch stopped by the event handler");
        return 0;
}

static int feed(struct watch_stream *stream, const char *data, size_t len) {
        while (len > 0) {
                const char *end = memchr(data, '\n', len);
                size_t piece_len = end ? (size_t)(end - data) : len;
                int r = 0;

                /* Most events arrive whole and are skimmed where they are. */
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
