#include "kube/list_page.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"

struct span {
        const char *at, *end;
};

static void skip_spaces(struct span *text) {
        while (text->at < text->end &&
               (*text->at == ' ' || *text->at == '\n' || *text->at == '\r' || *text->at == '\t'))
                text->at++;
}

static bool take(struct span *text, char c) {
        skip_spaces(text);
        if (text->at == text->end || *text->at != c)
                return false;
        text->at++;
        return true;
}

/* Over a string that begins here; false when it does not end. */
static bool skip_string(struct span *text) {
        if (!take(text, '"'))
                return false;
        for (; text->at < text->end; text->at++) {
                if (*text->at == '\\' && text->at + 1 < text->end)
                        text->at++;
                else if (*text->at == '"') {
                        text->at++;
                        return true;
                }
        }
        return false;
}

/*
 * Over one value, by counting brackets of either kind outside of strings. Nonsense passes here and
 * is found by jansson; the count ends at or before the place where jansson's value does.
 */
static bool skip_value(struct span *text) {
        size_t depth = 0;

        skip_spaces(text);
        while (text->at < text->end) {
                char c = *text->at;
                if (c == '"') {
                        if (!skip_string(text))
                                return false;
                        if (depth == 0)
                                return true;
                        continue;
                }
                if (depth == 0 && (c == ',' || c == ']' || c == '}'))
                        return true; /* behind a number or a word */
                if (c == '[' || c == '{')
                        depth++;
                if (c == ']' || c == '}')
                        depth--;
                text->at++;
                if (depth == 0 && (c == ']' || c == '}'))
                        return true;
        }
        return false;
}

static bool is_items_key(const char *key, const char *end) {
        static const char items[] = "\"items\"";

        return (size_t)(end - key) == sizeof(items) - 1 &&
               memcmp(key, items, sizeof(items) - 1) == 0;
}

/* The top level's "items" array, brackets included; at is NULL when there is none. */
static int find_items(struct span text, struct span *ret, struct error *err) {
        struct span items = {0};

        if (!take(&text, '{'))
                return error_set(err, EBADMSG, "not a JSON object");
        while (!take(&text, '}')) {
                skip_spaces(&text);
                const char *key = text.at;
                if (!skip_string(&text))
                        return error_set(err, EBADMSG, "list truncated or malformed");
                bool is_items = is_items_key(key, text.at);
                if (!take(&text, ':'))
                        return error_set(err, EBADMSG, "list malformed");
                skip_spaces(&text);
                const char *value = text.at;
                if (!skip_value(&text))
                        return error_set(err, EBADMSG, "list truncated");
                if (is_items && items.at)
                        return error_set(err, EBADMSG, "list has two items fields");
                if (is_items && *value == '[')
                        items = (struct span){value, text.at};
                (void)take(&text, ','); /* jansson minds where commas may stand */
        }
        *ret = items;
        return 0;
}

static int each_item(struct span items, list_item_fn *fn, void *userdata, size_t *ret_count,
                     struct error *err) {
        size_t count = 0;

        (void)take(&items, '[');
        while (!take(&items, ']')) {
                json_auto_t *object = NULL;

                if (count > 0 && !take(&items, ','))
                        return error_set(err, EBADMSG, "list malformed after item %zu", count);
                skip_spaces(&items);
                const char *begin = items.at;
                if (!skip_value(&items))
                        return error_set(err, EBADMSG, "list truncated in item %zu", count + 1);
                /* Without jansson's message, which quotes: pods hold secrets. */
                if (json_parse(begin, (size_t)(items.at - begin), &object, NULL) < 0)
                        return error_set(err, EBADMSG, "item %zu: invalid JSON", count + 1);
                if (!json_is_object(object))
                        return error_set(err, EBADMSG, "item %zu: not an object", count + 1);
                fn(userdata, object);
                count++;
        }
        *ret_count = count;
        return 0;
}

/* The document with "[]" for its items: the proof that it is a list and that the rest is JSON. */
static int parse_frame(const char *text, size_t len, struct span items, json_t **ret,
                       struct error *err) {
        _cleanup_(freep) char *frame = xmalloc(len + 1);
        size_t head = items.at ? (size_t)(items.at - text) : len;
        size_t tail = items.at ? len - (size_t)(items.end - text) : 0;
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
        if (!(json_is_array(rest) && json_array_size(rest) == 0) && !json_is_null(rest))
                return error_set(err, EBADMSG, "%.60s without items", kind);
        *ret = TAKE_PTR(root);
        return 0;
}

static int read_metadata(const json_t *root, struct list_page *page, struct error *err) {
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

        int r = find_items((struct span){text, text + len}, &items, err);
        if (r == 0)
                r = parse_frame(text, len, items, &root, err);
        if (r == 0 && page)
                r = read_metadata(root, page, err);
        *ret_count = 0;
        if (r == 0 && items.at)
                r = each_item(items, fn, userdata, ret_count, err);
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
