#include "kube/list_page.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/skim.h"

struct span {
        const char *at, *end;
};

static int each_json_item(struct skim *skim, list_item_fn *fn, void *userdata, size_t *ret_count,
                          struct error *err) {
        enum skim_step step;
        size_t count = 0;

        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE; count++) {
                const char *item = skim->at;
                /* Without a word of the text: pods hold secrets. */
                if (!skim_value(skim))
                        return error_set(err, EBADMSG, "item %zu: invalid JSON", count + 1);
                if (*item != '{')
                        return error_set(err, EBADMSG, "item %zu: not an object", count + 1);
                fn(userdata, item, (size_t)(skim->at - item));
        }
        if (step != SKIM_END)
                return error_set(err, EBADMSG, "list malformed after item %zu", count);
        *ret_count = count;
        return 0;
}

/* @ret: the top level's "items" array, brackets included; at is NULL when there is none. */
static int take_items(const char *text, size_t len, list_item_fn *fn, void *userdata,
                      struct span *ret, size_t *ret_count, struct error *err) {
        struct span items = {0};
        struct skim_string key;
        enum skim_step step;
        struct skim skim;
        int r = 0;

        skim_init(&skim, text, len);
        if (skim_peek(&skim) != '{')
                return error_set(err, EBADMSG, "not a JSON object");
        for (skim_enter(&skim); (step = skim_member(&skim, &key)) == SKIM_MORE;) {
                if (!skim_is(&key, "items") || skim_peek(&skim) != '[') {
                        if (!skim_value(&skim))
                                return error_set(err, EBADMSG, "list truncated or malformed");
                        continue;
                }
                if (items.at)
                        return error_set(err, EBADMSG, "list has two items fields");
                items.at = skim.at;
                r = each_json_item(&skim, fn, userdata, ret_count, err);
                if (r < 0)
                        return r;
                items.end = skim.at;
        }
        if (step != SKIM_END || !skim_at_end(&skim))
                return error_set(err, EBADMSG, "list truncated or malformed");
        *ret = items;
        return 0;
}

/* The document with "[]" for its items: the proof that it is a list and that the rest is JSON. */
static int parse_json_frame(const char *text, size_t len, struct span items, json_t **ret,
                            struct error *err) {
        size_t head = items.at ? (size_t)(items.at - text) : len;
        size_t tail = items.at ? len - head - (size_t)(items.end - items.at) : 0;
        _cleanup_(freep) char *frame = xmalloc(head + 2 + tail);
        json_auto_t *root = NULL;

        memcpy(frame, text, head);
        if (items.at) {
                memcpy(frame + head, "[]", 2);
                memcpy(frame + head + 2, items.end, tail);
                head += 2 + tail;
        }
        if (json_parse(frame, head, &root, NULL) < 0)
                return error_set(err, EBADMSG, "list is not valid JSON");
        const char *kind = json_string_at(root, "kind", NULL);
        size_t kind_len = kind ? strlen(kind) : 0;
        if (kind_len < 4 || strcmp(kind + kind_len - 4, "List") != 0)
                return error_set(err, EBADMSG, "not a list: kind is %.60s",
                                 kind ? kind : "missing");
        /* Nothing may be taken for an empty list: all that we hold would count as deleted. */
        const json_t *rest = json_at(root, "items", NULL);
        if (!json_is_array(rest) && !json_is_null(rest))
                return error_set(err, EBADMSG, "%.60s without items", kind);
        *ret = TAKE_PTR(root);
        return 0;
}

static int read_list_metadata(const json_t *root, struct list_page *page, struct error *err) {
        const char *kind = json_string_at(root, "kind", NULL);
        const char *version = json_string_at(root, "metadata", "resourceVersion", NULL);
        const char *next = json_string_at(root, "metadata", "continue", NULL);
        if (!version || !*version || strlen(version) > RESOURCE_VERSION_MAX_BYTES)
                return error_set(err, EBADMSG, "%.60s without a usable resourceVersion", kind);
        if (next && strlen(next) > CONTINUE_TOKEN_MAX_BYTES)
                return error_set(err, EBADMSG, "%.60s with an oversized continue token", kind);
        page->resource_version = xstrdup(version);
        page->continue_token = next && *next ? xstrdup(next) : NULL;
        return 0;
}

void list_page_done(struct list_page *page) {
        free(page->resource_version);
        free(page->continue_token);
        *page = (struct list_page){0};
}

/* @page: NULL: the list needs no metadata. */
static int parse_list(const char *text, size_t len, list_item_fn *fn, void *userdata,
                      struct list_page *page, size_t *ret_count, struct error *err) {
        json_auto_t *root = NULL;
        struct span items;

        *ret_count = 0;
        int r = take_items(text, len, fn, userdata, &items, ret_count, err);
        if (r == 0)
                r = parse_json_frame(text, len, items, &root, err);
        if (r == 0 && page)
                r = read_list_metadata(root, page, err);
        return r;
}

int list_page_parse(const char *text, size_t len, list_item_fn *fn, void *userdata,
                    struct list_page *ret, struct error *err) {
        _cleanup_(list_page_done) struct list_page page = {0};

        int r = parse_list(text, len, fn, userdata, &page, &page.count, err);
        if (r < 0)
                return r;
        *ret = page;
        page = (struct list_page){0};
        return 0;
}

int list_items_parse(const char *text, size_t len, list_item_fn *fn, void *userdata,
                     size_t *ret_count, struct error *err) {
        size_t count = 0;

        int r = parse_list(text, len, fn, userdata, NULL, &count, err);
        if (r == 0)
                *ret_count = count;
        return r;
}
