/*
 * Splits the body of a watch into events. It arrives in pieces of any size, as one JSON object per
 * line or as protobuf frames. Lines are skimmed (codec/skim.h), and objects are delivered as text.
 * Objects in protobuf are converted to such text (codec/proto_json.h). Pure.
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

/* An object has at most about 1.5 MiB (etcd's limit), and a little more as JSON. */
enum { WATCH_LINE_MAX_BYTES = 8 << 20 };

enum watch_event_type {
        WATCH_ADDED,
        WATCH_MODIFIED,
        WATCH_DELETED,
        WATCH_BOOKMARK,
        WATCH_ERROR, /* the object is a Status */
        WATCH_EVENT_TYPE_COUNT,
};

const char *watch_event_type_name(enum watch_event_type type);

struct watch_event {
        enum watch_event_type type;
        const char *object; /* JSON object without a NUL; borrowed during the call */
        size_t object_bytes;
        const char *resource_version; /* of the metadata; NULL only in WATCH_ERROR */
};

/** watch_event_fn: return false to stop the stream; later calls return -ECANCELED */
typedef bool watch_event_fn(void *userdata, const struct watch_event *event);

struct watch_stream {
        const struct proto_message *message;
        bool has_begun, is_framed;
        struct buf line;   /* the start of an incomplete line or frame */
        struct buf object; /* a protobuf object as JSON */
        watch_event_fn *fn;
        void *userdata;
        struct error failure; /* sticky */
};

/**
 * watch_stream_init() - the first piece will show whether the body has lines or frames
 * @message:        the fields to read of objects in protobuf; NULL: the body is JSON
 * @max_line_bytes: of a line without its end, or of a frame; WATCH_LINE_MAX_BYTES except in tests
 */
void watch_stream_init(struct watch_stream *stream, const struct proto_message *message,
                       size_t max_line_bytes, watch_event_fn *fn, void *userdata);
void watch_stream_done(struct watch_stream *stream);

/**
 * watch_stream_feed() - read the next piece
 *
 * Empty lines are skipped. An incomplete last line is ignored: the next watch starts before it.
 * Return: 0; or the code of stream->failure: -EBADMSG for an invalid event; -EFBIG for a line that
 * is too long; -ECANCELED if the callback returned false. After a failure, all calls return it.
 */
_must_check_ int watch_stream_feed(struct watch_stream *stream, const char *data, size_t len);
