/* Protobuf for tests: fields one by one, and objects from JSON by the table that they are read by.
 */
#pragma once

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "codec/proto.h"
#include "codec/proto_json.h"

enum { PROTO_TEST_MAX_BYTES = 1 << 20 };

static inline void proto_put_varint(struct buf *out, uint64_t value) {
        for (; value >= 0x80; value >>= 7)
                (void)buf_putc(out, (char)(value | 0x80));
        (void)buf_putc(out, (char)value);
}

static inline void proto_put_int(struct buf *out, uint32_t number, uint64_t value) {
        proto_put_varint(out, (uint64_t)number << 3 | PROTO_VARINT);
        proto_put_varint(out, value);
}

static inline void proto_put_bytes(struct buf *out, uint32_t number, const void *bytes,
                                   size_t len) {
        proto_put_varint(out, (uint64_t)number << 3 | PROTO_BYTES);
        proto_put_varint(out, len);
        (void)buf_append(out, bytes, len);
}

static inline void proto_put_text(struct buf *out, uint32_t number, const char *text) {
        proto_put_bytes(out, number, text, strlen(text));
}

/* Empties @message into field @number of @out. */
static inline void proto_put_message(struct buf *out, uint32_t number, struct buf *message) {
        proto_put_bytes(out, number, message->data, message->len);
        buf_done(message);
}

/* "k8s\0" and {1: {1: apiVersion, 2: kind}, 2: object} */
static inline void proto_put_envelope(struct buf *out, const char *kind, const void *object,
                                      size_t len) {
        struct buf type = BUF_INIT(PROTO_TEST_MAX_BYTES);

        (void)buf_append(out, "k8s", 4);
        proto_put_text(&type, 1, "v1");
        proto_put_text(&type, 2, kind);
        proto_put_message(out, 1, &type);
        proto_put_bytes(out, 2, object, len);
        proto_put_text(out, 3, "");
        proto_put_text(out, 4, "");
}

/* ---- By table. */

static inline void proto_put_object(struct buf *out, const struct proto_message *message,
                                    const json_t *object);

static inline void proto_put_entry(struct buf *out, const struct proto_member *member,
                                   const char *key, const char *value) {
        struct buf entry = BUF_INIT(PROTO_TEST_MAX_BYTES);
        struct buf quantity = BUF_INIT(PROTO_TEST_MAX_BYTES);

        proto_put_text(&entry, 1, key);
        if (member->kind == PROTO_QUANTITIES) {
                proto_put_text(&quantity, 1, value);
                proto_put_message(&entry, 2, &quantity);
        } else {
                proto_put_text(&entry, 2, value);
        }
        proto_put_message(out, member->number, &entry);
}

static inline void proto_put_time(struct buf *out, uint32_t number, const char *text) {
        struct buf time = BUF_INIT(PROTO_TEST_MAX_BYTES);
        int64_t at_unix_ms = 0;

        /* A time that nobody can read is none. */
        if (timestamp_parse(text, strlen(text), &at_unix_ms)) {
                proto_put_int(&time, 1, (uint64_t)(at_unix_ms / 1000));
                proto_put_int(&time, 2, 0);
        }
        proto_put_message(out, number, &time);
}

static inline void proto_put_member(struct buf *out, const struct proto_member *member,
                                    json_t *value) {
        struct buf part = BUF_INIT(PROTO_TEST_MAX_BYTES);
        const char *key;
        json_t *item;
        size_t i;

        switch (member->kind) {
        case PROTO_STRING:
                proto_put_bytes(out, member->number, json_string_value(value),
                                json_string_length(value));
                break;
        case PROTO_BOOL:
                proto_put_int(out, member->number, json_is_true(value));
                break;
        case PROTO_INT:
                proto_put_int(out, member->number, (uint64_t)json_integer_value(value));
                break;
        case PROTO_TIME:
                proto_put_time(out, member->number, json_string_value(value));
                break;
        case PROTO_OBJECT:
                proto_put_object(&part, member->message, value);
                proto_put_message(out, member->number, &part);
                break;
        case PROTO_LIST:
                json_array_foreach (value, i, item) {
                        proto_put_object(&part, member->message, item);
                        proto_put_message(out, member->number, &part);
                }
                break;
        case PROTO_TEXTS:
        case PROTO_QUANTITIES:
                json_object_foreach (value, key, item)
                        proto_put_entry(out, member, key, json_string_value(item));
                break;
        }
}

/* Fields that no table names, of every type. */
static inline void proto_put_noise(struct buf *out) {
        switch (random_below(8)) {
        case 0:
                proto_put_int(out, 1000, (uint64_t)random_below(1 << 30) << 30);
                break;
        case 1:
                proto_put_text(out, 536870911, "nodeName");
                break;
        case 2:
                proto_put_varint(out, 1001 << 3 | PROTO_FIXED32);
                (void)buf_append(out, "\x08\x01\x0a\xff", 4);
                break;
        case 3:
                proto_put_varint(out, 1002 << 3 | PROTO_FIXED64);
                (void)buf_append(out, "\x08\x01\x0a\xff\xff\xff\xff\xff", 8);
                break;
        default:
                break;
        }
}

/* Members in an order of chance; null ones are absent. */
static inline void proto_put_object(struct buf *out, const struct proto_message *message,
                                    const json_t *object) {
        size_t first = (size_t)random_below((int64_t)message->count);

        for (size_t i = 0; i < message->count; i++) {
                const struct proto_member *member = &message->members[(first + i) % message->count];
                json_t *value = json_object_get(object, member->name);
                proto_put_noise(out);
                if (value && !json_is_null(value))
                        proto_put_member(out, member, value);
        }
}
