#include "kube/list_proto.h"

#include <errno.h>

#include "base/json_write.h"
#include "codec/proto.h"
#include "kube/kube_proto.h"

enum { FRAME_MAX_BYTES = 256 << 10, LIST_META = 1, LIST_ITEM = 2 };

/* The list without its items, in JSON, is for list_page_parse() to judge. */
static int parse_proto_frame(const struct kube_proto *list, struct list_page *ret,
                             struct error *err) {
        _cleanup_(buf_done) struct buf frame = BUF_INIT(FRAME_MAX_BYTES);
        struct proto_field field, meta = {.bytes = ""};
        struct proto proto;
        enum proto_step step;

        proto_init(&proto, list->object, list->object_bytes);
        while ((step = proto_next(&proto, &field)) == PROTO_MORE)
                if (field.number == LIST_META && field.wire == PROTO_BYTES)
                        meta = field;
        json_write_object(&frame, NULL);
        json_write_text_len(&frame, "kind", list->kind, list->kind_len);
        json_write_json(&frame, "items", "[]");
        json_write_key(&frame, "metadata");
        bool ok = proto_json_write(&frame, &kube_proto_list_meta, meta.bytes, meta.len);
        json_write_object_end(&frame);
        /* If something did not fit, what is there is no JSON. */
        if (step != PROTO_END || !ok)
                return error_set(err, EBADMSG, "list truncated or malformed");
        return list_page_parse(frame.data, frame.len, NULL, NULL, ret, err);
}

static int each_proto_item(const struct kube_proto *list, const struct proto_message *message,
                           list_item_fn *fn, void *userdata, size_t *ret_count, struct error *err) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(LIST_PROTO_ITEM_MAX_BYTES);
        struct proto_field field;
        struct proto proto;
        size_t count = 0;

        proto_init(&proto, list->object, list->object_bytes);
        while (proto_next(&proto, &field) == PROTO_MORE) {
                if (field.number != LIST_ITEM)
                        continue;
                count++;
                buf_clear(&text);
                /* Without a word of it: pods hold secrets. */
                if (field.wire != PROTO_BYTES ||
                    !proto_json_write(&text, message, field.bytes, field.len))
                        return error_set(err, EBADMSG, "item %zu: malformed or too large", count);
                fn(userdata, text.data, text.len);
        }
        *ret_count = count;
        return 0;
}

int list_proto_parse(const char *data, size_t len, const struct proto_message *message,
                     list_item_fn *fn, void *userdata, struct list_page *ret, struct error *err) {
        _cleanup_(list_page_done) struct list_page page = {0};
        struct kube_proto list;

        if (!kube_proto_open(data, len, &list))
                return error_set(err, EBADMSG, "not an object in protobuf");
        int r = parse_proto_frame(&list, &page, err);
        if (r == 0)
                r = each_proto_item(&list, message, fn, userdata, &page.count, err);
        if (r < 0)
                return r;
        *ret = page;
        page = (struct list_page){0};
        return 0;
}

int list_parse(const char *data, size_t len, const struct proto_message *message, list_item_fn *fn,
               void *userdata, struct list_page *ret, struct error *err) {
        return message && kube_proto_is(data, len)
                       ? list_proto_parse(data, len, message, fn, userdata, ret, err)
                       : list_page_parse(data, len, fn, userdata, ret, err);
}
