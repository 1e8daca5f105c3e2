#include "codec/proto.h"

enum { VARINT_MAX_BYTES = 10, FIELD_NUMBER_MAX = (1 << 29) - 1 };

void proto_init(struct proto *proto, const char *data, size_t len) {
        *proto = (struct proto){.at = data, .end = len > 0 ? data + len : data};
}

/* Bits after the 64th are dropped, as in all decoders. */
static bool take_varint(struct proto *proto, uint64_t *ret) {
        uint64_t value = 0;

        for (unsigned i = 0; i < VARINT_MAX_BYTES && proto->at < proto->end; i++) {
                unsigned char byte = (unsigned char)*proto->at++;
                value |= (uint64_t)(byte & 0x7f) << (7 * i);
                if (byte < 0x80) {
                        *ret = value;
                        return true;
                }
        }
        return false;
}

static bool take_bytes(struct proto *proto, uint64_t len, struct proto_field *ret) {
        if (len > (uint64_t)(proto->end - proto->at))
                return false;
        ret->bytes = proto->at;
        ret->len = (size_t)len;
        proto->at += len;
        return true;
}

static bool take_value(struct proto *proto, struct proto_field *ret) {
        struct proto_field fixed;
        uint64_t len;

        switch (ret->wire) {
        case PROTO_VARINT:
                return take_varint(proto, &ret->varint);
        case PROTO_FIXED64:
                return take_bytes(proto, 8, &fixed);
        case PROTO_BYTES:
                return take_varint(proto, &len) && take_bytes(proto, len, ret);
        case PROTO_FIXED32:
                return take_bytes(proto, 4, &fixed);
        }
        return false;
}

enum proto_step proto_next(struct proto *proto, struct proto_field *ret) {
        uint64_t tag;

        if (proto->at == proto->end)
                return PROTO_END;
        if (!take_varint(proto, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
                return PROTO_BAD;
        *ret = (struct proto_field){
                .number = (uint32_t)(tag >> 3),
                .wire = (enum proto_wire)(tag & 7),
                .bytes = "",
        };
        return take_value(proto, ret) ? PROTO_MORE : PROTO_BAD;
}

bool proto_pair(const char *data, size_t len, struct proto_field ret[static 2]) {
        struct proto_field field;
        struct proto proto;
        enum proto_step step;

        ret[0] = ret[1] = (struct proto_field){.bytes = ""};
        proto_init(&proto, data, len);
        while ((step = proto_next(&proto, &field)) == PROTO_MORE)
                if (field.number <= 2 && field.wire == PROTO_BYTES)
                        ret[field.number - 1] = field;
        return step == PROTO_END;
}
