/*
 * Converts a protobuf message to the JSON text that Kubernetes defines for it, limited to the
 * fields of a table. Readers of objects are written once, for JSON, and have less of it to read.
 *
 * Fields can be in any order. If a field that is not a list or map is repeated, the last one
 * counts. Absent fields and empty strings are omitted. Other fields are skipped. The tables limit
 * the depth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"

enum { PROTO_JSON_MAX_MEMBERS = 12 }; /* in the table of one message */

enum proto_kind {
        PROTO_STRING,
        PROTO_BOOL,
        PROTO_INT,
        PROTO_TIME,       /* metav1.Time {1: seconds, 2: nanoseconds}: RFC 3339 in seconds */
        PROTO_OBJECT,     /* a message */
        PROTO_LIST,       /* of messages */
        PROTO_STRINGS,    /* list of strings */
        PROTO_TEXTS,      /* map from string to string */
        PROTO_QUANTITY,   /* resource.Quantity {1: string} */
        PROTO_QUANTITIES, /* map from string to resource.Quantity */
};

struct proto_message;

struct proto_member {
        uint32_t number;
        enum proto_kind kind;
        const char *name;
        const struct proto_message *message; /* of PROTO_OBJECT and PROTO_LIST */
        /* The keys of a map to keep; or the values of field 1 of the list items to keep. NULL: all.
         */
        const char *const *keys;
};

struct proto_message {
        const struct proto_member *members;
        size_t count; /* 1 to PROTO_JSON_MAX_MEMBERS */
};

/* Initializer of a message from an array of members. */
#define PROTO_MESSAGE(array)                                                                       \
        { array, ARRAY_LEN(array) }

/**
 * proto_json_write() - append the object, as UTF-8 without a NUL
 * Return: false if it is malformed, if a field of the table has another wire type, or if it exceeds
 *         the ceiling of @out; then @out has a part of it
 */
_must_check_ bool proto_json_write(struct buf *out, const struct proto_message *message,
                                   const char *data, size_t len);
