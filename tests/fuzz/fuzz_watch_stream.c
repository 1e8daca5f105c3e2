/*
 * The body of a watch of pods or nodes in JSON or protobuf, its first byte saying how it is cut:
 * the same events and the same end come out of the whole and of the pieces.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "fuzz.h"
#include "kube/kube_proto.h"
#include "kube/watch_stream.h"

enum { LINE_MAX_BYTES = 4096, LOG_MAX_BYTES = 64 << 20 };

/* What the skimmer lets through and jansson does not: numbers and characters that it cannot hold.
 */
static bool is_beyond_jansson(const json_error_t *error) {
        return json_error_code(error) == json_error_numeric_overflow ||
               json_error_code(error) == json_error_null_byte_in_key ||
               strstr(error->text, "invalid Unicode '\\u");
}

static bool note(void *userdata, const struct watch_event *event) {
        json_error_t error;
        json_auto_t *object = json_loadb(event->object, event->object_bytes, JSON_ALLOW_NUL,
                                         &error);

        require(event->resource_version || event->type == WATCH_ERROR);
        require(object || is_beyond_jansson(&error));
        require(!object || json_is_object(object));
        (void)buf_printf(userdata, "%s %s ", watch_event_type_name(event->type),
                         event->resource_version ? event->resource_version : "");
        (void)buf_append(userdata, event->object, event->object_bytes);
        (void)buf_putc(userdata, '\n');
        return event->type != WATCH_ERROR;
}

/* In pieces whose lengths follow from @seed. */
static int decode(const struct proto_message *message, const char *text, size_t len, unsigned seed,
                  struct buf *log) {
        struct watch_stream stream;
        int r = 0;

        watch_stream_init(&stream, message, LINE_MAX_BYTES, note, log);
        for (size_t at = 0; at < len;) {
                seed = seed * 1103515245u + 12345u;
                size_t n = size_min(1 + (seed >> 16) % 37, len - at);
                char *piece = malloc(n); /* exactly, for the sanitizer's sake */
                if (!piece)
                        mem_exhausted();
                memcpy(piece, text + at, n);
                r = watch_stream_feed(&stream, piece, n);
                free(piece);
                at += n;
        }
        watch_stream_done(&stream);
        return r;
}

static void compare(const struct proto_message *message, const char *text, size_t len,
                    unsigned seed) {
        struct buf whole = BUF_INIT(LOG_MAX_BYTES), pieces = BUF_INIT(LOG_MAX_BYTES);
        struct watch_stream stream;

        watch_stream_init(&stream, message, LINE_MAX_BYTES, note, &whole);
        int r = watch_stream_feed(&stream, text, len);
        watch_stream_done(&stream);
        require(decode(message, text, len, seed, &pieces) == r && whole.len == pieces.len &&
                (whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0));
        buf_done(&whole);
        buf_done(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size == 0)
                return 0;
        compare(&kube_proto_pod, (const char *)data + 1, size - 1, data[0]);
        compare(&kube_proto_node, (const char *)data + 1, size - 1, data[0]);
        return 0;
}
