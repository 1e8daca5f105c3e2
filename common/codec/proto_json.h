/*
 * A protobuf message as the JSON text that Kubernetes has for it, with only those of its fields
 * that a table names. So what reads objects is written once, for JSON, and reads less of it.
 *
 * Fields may come in any order. Of one that is no list or map and is repeated, the last counts.
 * Absent fields and empty strings are left out. All other fields are stepped over by their length.
 * How deep it goes is given by the tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"

enum { PROTO_JSON_MAX_MEMBERS = 12 }; /* of one message's table */

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
        /* Of maps: the keys that are wanted. Of lists: the items whose field 1 is one of these
         * strings. NULL: all. */
        const char *const *keys;
};

struct proto_message {
        const struct proto_member *members;
        size_t count; /* 1 to PROTO_JSON_MAX_MEMBERS */
};

/* The initializer of a message whose members are an array. */
#define PROTO_MESSAGE(array)                                                                       \
        { array, ARRAY_LEN(array) }

/**
 * proto_json_write() - append the object, in ASCII and UTF-8, without a NUL
 * Return: false when it is malformed, a field of the table has another type on the wire, or it
 *         passes the buffer's ceiling; @out then holds a part of it
 */
_must_check_ bool proto_json_write(struct buf *out, const struct proto_message *message,
                                   const char *data, size_t len);
