#include "codec/proto_json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/timestamp.h"
#include "codec/proto.h"

/* The end of the year 9999, the last one in RFC 3339. */
#define MAX_TIME_S INT64_C(253402300799)

/* The occurrences of a member in the message. */
struct occurrences {
        const char *first; /* NULL: there is none */
        struct proto_field last;
};

static enum proto_wire wire_of(enum proto_kind kind) {
        return kind == PROTO_BOOL || kind == PROTO_INT ? PROTO_VARINT : PROTO_BYTES;
}

static bool find_members(const struct proto_message *message, struct proto proto,
                         struct occurrences occurrences[static PROTO_JSON_MAX_MEMBERS]) {
        struct proto_field field;
        enum proto_step step;
        const char *at;

        for (at = proto.at; (step = proto_next(&proto, &field)) == PROTO_MORE; at = proto.at) {
                for (size_t i = 0; i < message->count; i++) {
                        if (message->members[i].number != field.number)
                                continue;
                        if (wire_of(message->members[i].kind) != field.wire)
                                return false;
                        if (!occurrences[i].first)
                                occurrences[i].first = at;
                        occurrences[i].last = field;
                        break;
                }
        }
        return step == PROTO_END;
}

static bool write_time(struct buf *out, const struct proto_field *field) {
        struct proto proto;
        struct proto_field part;
        enum proto_step step;
        int64_t at_s = 0;
        char text[TIMESTAMP_MAX];

        for (proto_init(&proto, field->bytes, field->len);
             (step = proto_next(&proto, &part)) == PROTO_MORE;)
                if (part.number == 1 && part.wire == PROTO_VARINT)
                        at_s = (int64_t)part.varint;
        /* Go's zero time is an empty message. */
        if (at_s <= 0 || at_s > MAX_TIME_S)
                return step == PROTO_END && buf_puts(out, "null");
        timestamp_format_s(at_s * MS_PER_S, text, sizeof(text));
        return step == PROTO_END && buf_json_string(out, text, strlen(text));
}

/* Replaces a message by the string in its field 1. A Quantity has no other field; in many messages
 * it is the name or type. */
static bool read_first(struct proto_field *field) {
        struct proto_field parts[2];
        bool is_whole = proto_pair(field->bytes, field->len, parts);

        *field = parts[0];
        return is_whole;
}

static bool is_key_selected(const char *const *keys, const struct proto_field *key) {
        if (!keys)
                return true;
        for (; *keys; keys++)
                if (strlen(*keys) == key->len && memcmp(*keys, key->bytes, key->len) == 0)
                        return true;
        return false;
}

/* An entry of a map is the message {1: key, 2: value}. */
static bool write_entry(struct buf *out, const struct proto_member *member,
                        const struct proto_field *entry) {
        struct proto_field parts[2], *key = &parts[0], *value = &parts[1];

        if (!proto_pair(entry->bytes, entry->len, parts))
                return false;
        if (!is_key_selected(member->keys, key))
                return true;
        if (member->kind == PROTO_QUANTITIES && !read_first(value))
                return false;
        json_write_key(out, NULL);
        return buf_json_string(out, key->bytes, key->len) && buf_putc(out, ':') &&
               buf_json_string(out, value->bytes, value->len);
}

static bool write_item(struct buf *out, const struct proto_member *member,
                       const struct proto_field *item) {
        struct proto_field key = *item;

        if (member->kind == PROTO_STRINGS) {
                json_write_key(out, NULL);
                return buf_json_string(out, item->bytes, item->len);
        }
        if (member->kind != PROTO_LIST)
                return write_entry(out, member, item);
        if (member->keys && !read_first(&key))
                return false;
        if (!is_key_selected(member->keys, &key))
                return true;
        json_write_key(out, NULL);
        return proto_json_write(out, member->message, item->bytes, item->len);
}

/* @rest: the message, which is valid, from the first occurrence of the member */
static bool write_members(struct buf *out, const struct proto_member *member, struct proto rest) {
        bool is_list = member->kind == PROTO_LIST || member->kind == PROTO_STRINGS;
        struct proto_field field;

        if (!buf_putc(out, is_list ? '[' : '{'))
                return false;
        while (proto_next(&rest, &field) == PROTO_MORE)
                if (field.number == member->number && !write_item(out, member, &field))
                        return false;
        return buf_putc(out, is_list ? ']' : '}');
}

/* `{"name":` or `,"name":` */
static bool write_name(struct buf *out, char before, const char *name) {
        size_t len = strlen(name);

        if (!buf_reserve(out, len + 4))
                return false;
        char *at = out->data + out->len;
        at[0] = before;
        at[1] = '"';
        memcpy(at + 2, name, len);
        memcpy(at + 2 + len, "\":", 3);
        out->len += len + 4;
        return true;
}

static bool write_value(struct buf *out, const struct proto_member *member,
                        const struct occurrences *occurrences, const char *end) {
        const struct proto_field *last = &occurrences->last;
        struct proto_field amount = *last;

        switch (member->kind) {
        case PROTO_STRING:
                return buf_json_string(out, last->bytes, last->len);
        case PROTO_BOOL:
                return buf_puts(out, last->varint ? "true" : "false");
        case PROTO_INT:
                return buf_printf(out, "%" PRId64, (int64_t)last->varint);
        case PROTO_TIME:
                return write_time(out, last);
        case PROTO_OBJECT:
                return proto_json_write(out, member->message, last->bytes, last->len);
        case PROTO_QUANTITY:
                return read_first(&amount) && buf_json_string(out, amount.bytes, amount.len);
        case PROTO_LIST:
        case PROTO_STRINGS:
        case PROTO_TEXTS:
        case PROTO_QUANTITIES:
                break;
        }
        return write_members(out, member, (struct proto){occurrences->first, end});
}

bool proto_json_write(struct buf *out, const struct proto_message *message, const char *data,
                      size_t len) {
        struct occurrences occurrences[PROTO_JSON_MAX_MEMBERS];
        struct proto proto;
        char before = '{';

        assert(message->count > 0 && message->count <= PROTO_JSON_MAX_MEMBERS);
        for (size_t i = 0; i < message->count; i++)
                occurrences[i].first = NULL;
        proto_init(&proto, data, len);
        if (!find_members(message, proto, occurrences))
                return false;
        for (size_t i = 0; i < message->count; i++) {
                const struct proto_member *member = &message->members[i];
                bool is_absent = !occurrences[i].first ||
                                 (member->kind == PROTO_STRING && occurrences[i].last.len == 0);
                if (is_absent)
                        continue;
                if (!write_name(out, before, member->name) ||
                    !write_value(out, member, &occurrences[i], proto.end))
                        return false;
                before = ',';
        }
        return (before == ',' || buf_putc(out, '{')) && buf_putc(out, '}');
}
