/*
 * Takes the body of a watch apart, received in pieces of any size: one JSON object per line, or
 * frames of protobuf. Lines are skimmed (codec/skim.h): objects are handed on as text. Of objects
 * in protobuf, what is read is handed on as the same text (codec/proto_json.h). Pure.
 *
 * A frame is 4 bytes of length, big-endian, and a metav1.WatchEvent {1: type, 2: RawExtension
 * {1: envelope of the object}} (kube/kube_proto.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "codec/proto_json.h"

/* An object is at most about 1.5 MiB (etcd's limit), in JSON a little more. */
enum { WATCH_LINE_MAX_BYTES = 8 << 20 };

enum watch_event_type {
        WATCH_ADDED,
        WATCH_MODIFIED,
        WATCH_DELETED,
        WATCH_BOOKMARK,
        WATCH_ERROR, /* object is a Status */
        WATCH_EVENT_TYPE_COUNT,
};

const char *watch_event_type_name(enum watch_event_type type);

struct watch_event {
        enum watch_event_type type;
        const char *object; /* text of a JSON object, without a NUL; borrowed for the call */
        size_t object_bytes;
        const char *resource_version; /* of its metadata; never NULL but in WATCH_ERROR */
};

/** watch_event_fn: returning false stops the stream; further calls return -ECANCELED */
typedef bool watch_event_fn(void *userdata, const struct watch_event *event);

struct watch_stream {
        const struct proto_message *message;
        bool has_begun, is_framed;
        struct buf line;   /* the beginning of an incomplete line or frame */
        struct buf object; /* of an event in protobuf, as JSON */
        watch_event_fn *fn;
        void *userdata;
        struct error failure; /* sticky */
};

/**
 * watch_stream_init() - before the first piece, which shows whether frames or lines follow
 * @message: what is read of objects in protobuf; NULL: it can only be JSON
 * @max_line_bytes: of a line without its end, or of a frame; WATCH_LINE_MAX_BYTES but in tests
 */
void watch_stream_init(struct watch_stream *stream, const struct proto_message *message,
                       size_t max_line_bytes, watch_event_fn *fn, void *userdata);
void watch_stream_done(struct watch_stream *stream);

/**
 * watch_stream_feed() - take the next piece
 *
 * Empty lines are skipped. An incomplete last line is never taken: the watch resumes before it.
 * Return: 0; or the code of stream->failure: -EBADMSG for an invalid event; -EFBIG for a line over
 * the limit; -ECANCELED when the callback returned false. After a failure every call returns it
 * again.
 */
_must_check_ int watch_stream_feed(struct watch_stream *stream, const char *data, size_t len);
