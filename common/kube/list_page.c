#include "kube/list_page.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "codec/proto.h"
#include "codec/skim_fields.h"
#include "kube/kube_proto.h"

enum { LIST_META = 1, LIST_ITEM = 2, META_VERSION = 2, META_CONTINUE = 3 };

enum {
        MAX_OBJECTS = 1000000,
        SMALL_PAGE = 50, /* there can be as many smaller pages as pages of this size */
};

/* A list while it is read. Texts with len 0 are missing. */
struct list {
        struct skim_string kind;
        struct list_meta {
                struct skim_string version, next;
        } meta;
        bool has_items;
        size_t count; /* of items */

        list_item_fn *fn;
        void *userdata;
        struct error refusal; /* why items are refused */
};

/* ---- JSON. */

static int each_json_item(struct skim *skim, struct list *list, struct error *err) {
        enum skim_step step;

        if (list->has_items)
                return error_set(err, EBADMSG, "list has two items fields");
        list->has_items = true;
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE; list->count++) {
                const char *item = skim->at;
                /* The error does not quote the text: pods contain secrets. */
                if (!skim_value(skim))
                        return error_set(err, EBADMSG, "item %zu: invalid JSON", list->count + 1);
                if (*item != '{')
                        return error_set(err, EBADMSG, "item %zu: not an object", list->count + 1);
                list->fn(list->userdata, item, (size_t)(skim->at - item));
        }
        if (step != SKIM_END)
                return error_set(err, EBADMSG, "list malformed after item %zu", list->count);
        return 0;
}

static bool read_items(struct skim *skim, void *ret) {
        struct list *list = ret;

        if (skim_peek(skim) == '[')
                return each_json_item(skim, list, &list->refusal) == 0;
        list->has_items = skim_is_null(skim);
        return skim_value(skim);
}

static int read_json_list(struct list *list, const char *text, size_t len, struct error *err) {
        static const struct skim_field meta_fields[] = {
                SKIM_VALUE("resourceVersion", struct list_meta, version, skim_field_any_text),
                SKIM_VALUE("continue", struct list_meta, next, skim_field_any_text),
                {0},
        };
        static const struct skim_field fields[] = {
                SKIM_VALUE("kind", struct list, kind, skim_field_any_text),
                SKIM_OBJECT("metadata", struct list, meta, meta_fields),
                {SKIM_ONLY("items", struct list), .read = read_items},
                {0},
        };
        struct skim skim;

        skim_init(&skim, text, len);
        if (skim_peek(&skim) != '{')
                return error_set(err, EBADMSG, "not a JSON object");
        if (skim_fields(&skim, fields, list) && skim_at_end(&skim))
                return 0;
        return error_set(err, EBADMSG, "%s",
                         list->refusal.code ? list->refusal.msg : "list truncated or malformed");
}

/* ---- Protobuf. */

/* Its backslashes are bytes like others. */
static struct skim_string text_of_field(const struct proto_field *field) {
        return (struct skim_string){field->bytes, field->len, false};
}

/* Everything but the items. */
static bool read_proto_list(struct list *list, const struct kube_proto *envelope) {
        struct proto_field parts[2], field;
        struct proto meta;
        enum proto_step step;

        if (!proto_pair(envelope->object.bytes, envelope->object.len, parts))
                return false;
        list->kind = text_of_field(&envelope->kind);
        list->has_items = true;
        proto_init(&meta, parts[LIST_META - 1].bytes, parts[LIST_META - 1].len);
        while ((step = proto_next(&meta, &field)) == PROTO_MORE) {
                if (field.number == META_VERSION)
                        list->meta.version = text_of_field(&field);
                else if (field.number == META_CONTINUE)
                        list->meta.next = text_of_field(&field);
        }
        return step == PROTO_END;
}

static int each_proto_item(const struct kube_proto *envelope, const struct proto_message *message,
                           struct list *list, struct error *err) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(KUBE_PROTO_MAX_BYTES);
        struct proto_field field;
        struct proto proto;

        proto_init(&proto, envelope->object.bytes, envelope->object.len);
        while (proto_next(&proto, &field) == PROTO_MORE) {
                if (field.number != LIST_ITEM)
                        continue;
                list->count++;
                buf_clear(&text);
                /* The error does not quote the item: pods contain secrets. */
                if (field.wire != PROTO_BYTES ||
                    !proto_json_write(&text, message, field.bytes, field.len))
                        return error_set(err, EBADMSG, "item %zu: malformed or too large",
                                         list->count);
                list->fn(list->userdata, text.data, text.len);
        }
        return 0;
}

/* ---- Both. */

/* Copies @text; false: it is longer than @max_bytes, or cannot be decoded. */
static bool copy_list_text(const struct skim_string *text, size_t max_bytes, char **ret) {
        size_t cap = size_min(text->len, max_bytes) + 1;

        *ret = xmalloc(cap);
        return skim_decode(text, *ret, cap);
}

static int judge_list(const struct list *list, struct list_page *page, struct error *err) {
        const struct list_meta *meta = &list->meta;
        const char *kind = list->kind.len > 0 ? list->kind.text : "missing";
        int kind_len = (int)size_min(list->kind.len > 0 ? list->kind.len : strlen(kind), 60);

        if (list->kind.len < 4 || memcmp(kind + list->kind.len - 4, "List", 4) != 0)
                return error_set(err, EBADMSG, "not a list: kind is %.*s", kind_len, kind);
        /* This is not an empty list: all known objects would count as deleted. */
        if (!list->has_items)
                return error_set(err, EBADMSG, "%.*s without items", kind_len, kind);
        if (!page)
                return 0;
        if (meta->version.len == 0 ||
            !copy_list_text(&meta->version, RESOURCE_VERSION_MAX_BYTES, &page->resource_version))
                return error_set(err, EBADMSG, "%.*s without a usable resourceVersion", kind_len,
                                 kind);
        if (meta->next.len > 0 &&
            !copy_list_text(&meta->next, CONTINUE_TOKEN_MAX_BYTES, &page->continue_token))
                return error_set(err, EBADMSG, "%.*s with an oversized continue token", kind_len,
                                 kind);
        return 0;
}

void list_page_done(struct list_page *page) {
        free(page->resource_version);
        free(page->continue_token);
        *page = (struct list_page){0};
}

int list_page_check_end(size_t pages, size_t limit, struct error *err) {
        size_t max = MAX_OBJECTS / size_max(limit, SMALL_PAGE);

        if (pages < max)
                return 0;
        return error_set(err, E2BIG, "the list does not end: %zu pages of up to %zu objects", pages,
                         limit);
}

int list_page_parse(const char *data, size_t len, const struct proto_message *message,
                    list_item_fn *fn, void *userdata, struct list_page *ret, struct error *err) {
        _cleanup_(list_page_done) struct list_page page = {0};
        struct list_page *result = ret ? &page : NULL;
        struct list list = {.fn = fn, .userdata = userdata};
        struct kube_proto envelope;
        int r = 0;

        if (!message || !kube_proto_is(data, len)) {
                r = read_json_list(&list, data, len, err);
                if (r == 0)
                        r = judge_list(&list, result, err);
        } else if (!kube_proto_open(data, len, &envelope) || !read_proto_list(&list, &envelope)) {
                r = error_set(err, EBADMSG, "list truncated or malformed");
        } else {
                r = judge_list(&list, result, err);
                if (r == 0)
                        r = each_proto_item(&envelope, message, &list, err);
        }
        if (r < 0 || !ret)
                return r;
        page.count = list.count;
        *ret = page;
        page = (struct list_page){0};
        return 0;
}
