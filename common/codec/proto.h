/*
 * Stepping through a protobuf message without building anything, as skim.h does through JSON: one
 * field at a time, whatever its number. Never reads outside [data, data + len). Groups, which no
 * message of Kubernetes has, and field number 0 are refused.
 *
 * Wire format: https://protobuf.dev/programming-guides/encoding/
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct proto {
        const char *at;
        const char *end;
};

/* The numbers are those of the wire format. */
enum proto_wire {
        PROTO_VARINT = 0,
        PROTO_FIXED64 = 1,
        PROTO_BYTES = 2, /* strings, bytes, messages */
        PROTO_FIXED32 = 5,
};

struct proto_field {
        uint32_t number;
        enum proto_wire wire;
        uint64_t varint;   /* of PROTO_VARINT, else 0 */
        const char *bytes; /* of PROTO_BYTES, in the message; else "" */
        size_t len;
};

enum proto_step {
        PROTO_MORE, /* a field */
        PROTO_END,  /* the message has ended */
        PROTO_BAD,  /* cut off, or not protobuf */
};

void proto_init(struct proto *proto, const char *data, size_t len);
/** proto_next() - the next field; @ret is undefined unless it is PROTO_MORE */
_must_check_ enum proto_step proto_next(struct proto *proto, struct proto_field *ret);

/**
 * proto_pair() - the fields 1 and 2 of a message, which are PROTO_BYTES: most messages that only
 * wrap others have no more
 * @ret: the last of each number; "" where there is none
 * Return: false when the message is cut off, or not protobuf
 */
_must_check_ bool proto_pair(const char *data, size_t len, struct proto_field ret[static 2]);
