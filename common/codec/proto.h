/*
 * A cursor over a protobuf message, like skim.h for JSON: it visits one field after another and
 * builds nothing. It never reads outside of [data, data + len). Groups, which Kubernetes does not
 * use, and field number 0 are errors.
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

/* As in the wire format. */
enum proto_wire {
        PROTO_VARINT = 0,
        PROTO_FIXED64 = 1,
        PROTO_BYTES = 2, /* strings, bytes, messages */
        PROTO_FIXED32 = 5,
};

struct proto_field {
        uint32_t number;
        enum proto_wire wire;
        uint64_t varint;   /* 0 unless PROTO_VARINT */
        const char *bytes; /* borrowed from the message; "" unless PROTO_BYTES */
        size_t len;
};

enum proto_step {
        PROTO_MORE, /* a field */
        PROTO_END,  /* the end of the message */
        PROTO_BAD,  /* cut off, or not protobuf */
};

void proto_init(struct proto *proto, const char *data, size_t len);
/** proto_next() - the next field; @ret is undefined unless PROTO_MORE is returned */
_must_check_ enum proto_step proto_next(struct proto *proto, struct proto_field *ret);

/**
 * proto_pair() - the fields 1 and 2 of a message, both PROTO_BYTES: most messages that wrap others
 * have only these
 * @ret: the last field of each number; "" if there is none
 * Return: false if the message is cut off, or not protobuf
 */
_must_check_ bool proto_pair(const char *data, size_t len, struct proto_field ret[static 2]);
