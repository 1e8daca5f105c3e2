#include "codec/tree.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"
#include "codec/tree_builder.h"

static const struct tree_mark nowhere;

static int add_json(struct tree *tree, const json_t *json, struct tree_node *to, struct error *err);

static int add_json_items(struct tree *tree, const json_t *json, struct tree_node *to,
                          struct error *err) {
        bool is_map = json_typeof(json) == JSON_OBJECT;
        size_t count = is_map ? json_object_size(json) : json_array_size(json), i = 0;
        _cleanup_(freep) struct tree_node *items = xcalloc(count + 1, sizeof(*items));
        _cleanup_(strmap_done) struct strmap keys = STRMAP_NULL;
        const char *key;
        json_t *value;

        int r = tree_begin(tree, to, is_map ? TREE_MAP : TREE_LIST, nowhere, err);
        json_object_foreach (json_iterable(json), key, value) {
                if (r == 0)
                        r = tree_key(tree, &items[i], &keys, key, strlen(key), nowhere, err);
                if (r == 0)
                        r = add_json(tree, value, &items[i++], err);
        }
        json_array_foreach (json, i, value)
                if (r == 0)
                        r = add_json(tree, value, &items[i], err);
        tree_end(tree, to, items, count);
        return r;
}

static int add_json(struct tree *tree, const json_t *json, struct tree_node *to,
                    struct error *err) {
        char text[NUMBER_TEXT_MAX];

        switch (json_typeof(json)) {
        case JSON_OBJECT:
        case JSON_ARRAY:
                return add_json_items(tree, json, to, err);
        case JSON_STRING:
                return tree_scalar(tree, to, json_string_value(json), json_string_length(json),
                                   true, nowhere, err);
        case JSON_REAL:
                number_format(json_real_value(json), text);
                break;
        case JSON_INTEGER:
        case JSON_TRUE:
        case JSON_FALSE:
        case JSON_NULL:
                text[json_dumpb(json, text, sizeof(text) - 1, JSON_ENCODE_ANY)] = '\0';
                break;
        }
        return tree_scalar(tree, to, text, strlen(text), false, nowhere, err);
}

int tree_from_json(const json_t *json, struct tree **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = tree_new();

        int r = add_json(tree, json, tree_new_root(tree), err);
        if (r == 0)
                *ret = TAKE_PTR(tree);
        return r;
}

static bool begins_as_json(const char *text, size_t len) {
        size_t i = 0;

        while (i < len && strchr(" \t\r\n", text[i]) && text[i] != '\0')
                i++;
        return i < len && (text[i] == '{' || text[i] == '[');
}

/* NULL: not JSON. jansson would skip NUL bytes between tokens. */
static json_t *load_json(const char *text, size_t len) {
        return memchr(text, '\0', len) ? NULL : json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
}

/* U+0085, U+2028 and U+2029: YAML folds a text there, JSON does not. */
static bool has_yaml_breaks(const char *text, size_t len) {
        return memmem(text, len, "\xc2\x85", 2) || memmem(text, len, "\xe2\x80\xa8", 3) ||
               memmem(text, len, "\xe2\x80\xa9", 3);
}

/* libyaml counts it as a column, and jansson rejects it. */
static void skip_byte_order_mark(const char **text, size_t *len) {
        static const char mark[] = {'\xef', '\xbb', '\xbf'};

        if (*len < sizeof(mark) || memcmp(*text, mark, sizeof(mark)) != 0)
                return;
        *text += sizeof(mark);
        *len -= sizeof(mark);
}

/*
 * libyaml reads nearly all JSON, and counts lines. jansson reads what libyaml rejects: surrogate
 * pairs, keys of more than 1,024 characters, a line break before a colon, and tabs before the first
 * bracket.
 */
int tree_parse(const char *text, size_t len, struct tree **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = tree_new();
        struct error problem = ERROR_NULL;

        if (len > TREE_MAX_BYTES)
                return error_set(err, E2BIG, "larger than %d bytes", TREE_MAX_BYTES);
        skip_byte_order_mark(&text, &len);
        bool may_be_json = begins_as_json(text, len);
        json_auto_t *json = may_be_json && has_yaml_breaks(text, len) ? load_json(text, len) : NULL;
        int r = json ? 0 : tree_read_yaml(tree, text, len, &problem);
        if (r == -EINVAL && may_be_json)
                json = load_json(text, len);
        if (json)
                return tree_from_json(json, ret, err);
        if (r == 0)
                *ret = TAKE_PTR(tree);
        else if (err)
                *err = problem;
        return r;
}

int tree_load_file(const char *path, struct tree **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, TREE_MAX_BYTES, &text, &len, err);
        return r < 0 ? r : tree_parse(text, len, ret, err);
}

const struct tree_node *tree_get(const struct tree_node *map, const char *key) {
        if (!map || map->kind != TREE_MAP)
                return NULL;
        for (size_t i = 0; i < map->count; i++)
                if (strcmp(map->items[i].key, key) == 0)
                        return &map->items[i];
        return NULL;
}

/* @words: NULL-terminated */
static bool is_plain_word(const struct tree_node *node, const char *const *words) {
        if (!node || node->kind != TREE_SCALAR || node->is_quoted)
                return false;
        for (; *words; words++)
                if (strcmp(node->text, *words) == 0)
                        return true;
        return false;
}

bool tree_is_null(const struct tree_node *node) {
        static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};

        return is_plain_word(node, words);
}

bool tree_read_bool(const struct tree_node *node, bool *ret) {
        static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                          "on",   "On",   "ON",   "y",   "Y",   NULL};
        static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
                                         "off",   "Off",   "OFF",   "n",  "N",  NULL};
        bool is_yes = is_plain_word(node, yes);

        if (!is_yes && !is_plain_word(node, no))
                return false;
        *ret = is_yes;
        return true;
}
