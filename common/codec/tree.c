#include "codec/tree.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "base/utf8.h"

/* Memory that the tree owns. */
struct tree_piece {
        struct tree_piece *next;
        alignas(max_align_t) char data[];
};

struct tree {
        struct tree_node root;
        struct tree_piece *pieces;
        size_t node_count, depth; /* so far, and now */
        struct strmap anchors;    /* name -> struct tree_node, a complete value */
};

static void *tree_alloc(struct tree *tree, size_t bytes) {
        struct tree_piece *piece = xcalloc(1, sizeof(*piece) + bytes);

        piece->next = tree->pieces;
        tree->pieces = piece;
        return piece->data;
}

void tree_free(struct tree *tree) {
        if (!tree)
                return;
        for (struct tree_piece *piece = tree->pieces, *next = NULL; piece; piece = next) {
                next = piece->next;
                free(piece);
        }
        strmap_done(&tree->anchors);
        free(tree);
}

const struct tree_node *tree_root(const struct tree *tree) {
        return &tree->root;
}

/* error_set() with the prefix "line N, column N: " */
static int tree_fail(int code, yaml_mark_t at, struct error *err, const char *fmt, ...)
        _printf_(4, 5);

static int tree_fail(int code, yaml_mark_t at, struct error *err, const char *fmt, ...) {
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        return error_set(err, code, "line %zu, column %zu: %s", at.line + 1, at.column + 1, what);
}

/* A NUL-terminated copy, which has no other NUL. */
static int tree_text(struct tree *tree, const char *text, size_t len, yaml_mark_t at,
                     const char **ret, struct error *err) {
        if (memchr(text, '\0', len))
                return tree_fail(EINVAL, at, err, "a NUL character in the text");
        *ret = memcpy(tree_alloc(tree, len + 1), text, len);
        return 0;
}

static int tree_count(struct tree *tree, yaml_mark_t at, struct error *err) {
        if (tree->node_count++ == TREE_MAX_NODES)
                return tree_fail(E2BIG, at, err, "more than %d values", TREE_MAX_NODES);
        return 0;
}

static int tree_descend(struct tree *tree, yaml_mark_t at, struct error *err) {
        if (tree->depth++ == TREE_MAX_DEPTH)
                return tree_fail(E2BIG, at, err, "nested deeper than %d levels", TREE_MAX_DEPTH);
        return 0;
}

static int tree_count_all(struct tree *tree, const struct tree_node *node, yaml_mark_t at,
                          struct error *err) {
        int r = tree_count(tree, at, err);

        if (r < 0 || node->kind == TREE_SCALAR)
                return r;
        r = tree_descend(tree, at, err);
        for (size_t i = 0; r == 0 && i < node->count; i++)
                r = tree_count_all(tree, &node->items[i], at, err);
        tree->depth--;
        return r;
}

static void tree_anchor(struct tree *tree, const char *name, const struct tree_node *node) {
        struct tree_node *copy = tree_alloc(tree, sizeof(*copy));

        *copy = *node;
        (void)strmap_put(&tree->anchors, name, strlen(name), copy);
}

static int tree_alias(struct tree *tree, struct tree_node *node, const char *name, yaml_mark_t at,
                      struct error *err) {
        const struct tree_node *like = strmap_get(&tree->anchors, name, strlen(name));
        const struct tree_node own = *node;

        if (!like)
                return tree_fail(EINVAL, at, err, "no anchor &%.64s before the alias", name);
        *node = *like;
        node->key = own.key;
        node->key_line = own.key_line;
        return tree_count_all(tree, like, at, err);
}

/* @keys: of the items before it */
static int tree_key(struct tree *tree, struct tree_node *item, struct strmap *keys,
                    const char *text, size_t len, yaml_mark_t at, struct error *err) {
        void *first = strmap_put(keys, text, len, (void *)(uintptr_t)(at.line + 1));

        if (first)
                return tree_fail(EINVAL, at, err, "duplicate key '%.*s', first on line %zu",
                                 (int)size_min(len, 128), text, (size_t)(uintptr_t)first);
        item->key_line = (unsigned)at.line + 1;
        return tree_text(tree, text, len, at, &item->key, err);
}

static bool is_tab_at(const char *text, size_t len, size_t char_index) {
        size_t at = 0;

        for (size_t i = 0; i < char_index; i++)
                at = size_min(at + size_max(utf8_sequence_len(text + at, len - at), 1), len);
        return at < len && text[at] == '\t';
}

struct reading {
        yaml_parser_t parser;
        const char *text;
        size_t len;
        struct tree *tree;
};

static int fail_with_parser(const struct reading *reading, struct error *err) {
        const yaml_parser_t *parser = &reading->parser;
        const char *text = reading->text;
        size_t len = reading->len;
        yaml_mark_t at = parser->problem_mark;

        if (parser->error == YAML_MEMORY_ERROR)
                mem_exhausted();
        if (parser->error == YAML_READER_ERROR) {
                /* The reader reports a byte offset; the scanner and the parser report a mark. */
                unsigned line, column;
                utf8_place(text, size_min(parser->problem_offset, len), &line, &column);
                return error_set(err, EINVAL, "line %u, column %u: not UTF-8 text: %s", line,
                                 column, parser->problem);
        }
        if (parser->error == YAML_SCANNER_ERROR && is_tab_at(text, len, parser->problem_mark.index))
                return tree_fail(EINVAL, at, err,
                                 "a tab in the indentation, which YAML does not allow");
        if (!parser->context)
                return tree_fail(EINVAL, at, err, "%s", parser->problem);
        return tree_fail(EINVAL, at, err, "%s (%s that begins on line %zu)", parser->problem,
                         parser->context, parser->context_mark.line + 1);
}

static int next_event(struct reading *reading, yaml_event_t *event, struct error *err) {
        yaml_event_delete(event);
        return yaml_parser_parse(&reading->parser, event) ? 0 : fail_with_parser(reading, err);
}

/* Most configuration files need none, and they make files hard to read. */
static int check_tag(const yaml_char_t *tag, yaml_mark_t at, struct error *err) {
        if (!tag)
                return 0;
        return tree_fail(EINVAL, at, err, "tags (%.64s) are not supported", (const char *)tag);
}

static int read_key(struct reading *reading, const yaml_event_t *event, struct strmap *keys,
                    struct tree_node *item, struct error *err) {
        yaml_mark_t at = event->start_mark;
        const char *text = (const char *)event->data.scalar.value;

        if (event->type != YAML_SCALAR_EVENT)
                return tree_fail(EINVAL, at, err,
                                 "expected plain text as a key, got a list, map or alias");
        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
                return tree_fail(EINVAL, at, err, "merge keys (<<) are not supported");
        int r = check_tag(event->data.scalar.tag, at, err);
        return r < 0 ? r
                     : tree_key(reading->tree, item, keys, text, event->data.scalar.length, at,
                                err);
}

static int read_value(struct reading *reading, const yaml_event_t *event, struct tree_node *to,
                      struct error *err);

/* The items of a list or map, up to its end. */
static int read_items(struct reading *reading, struct tree_node *to, yaml_mark_t at,
                      struct error *err) {
        _cleanup_(strmap_done) struct strmap keys = STRMAP_NULL;
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        _cleanup_(freep) struct tree_node *items = NULL;
        size_t count = 0, cap = 0;

        int r = tree_descend(reading->tree, at, err);
        while (r == 0 && (r = next_event(reading, &event, err)) == 0 &&
               event.type != YAML_SEQUENCE_END_EVENT && event.type != YAML_MAPPING_END_EVENT) {
                mem_grow(&items, count, &cap);
                struct tree_node *item = &items[count++];
                *item = (struct tree_node){0};
                if (to->kind == TREE_MAP)
                        r = read_key(reading, &event, &keys, item, err);
                if (r == 0 && to->kind == TREE_MAP)
                        r = next_event(reading, &event, err);
                if (r == 0)
                        r = read_value(reading, &event, item, err);
        }
        reading->tree->depth--;
        to->count = count;
        if (count > 0)
                to->items = memcpy(tree_alloc(reading->tree, count * sizeof(*items)), items,
                                   count * sizeof(*items));
        return r;
}

static int read_value(struct reading *reading, const yaml_event_t *event, struct tree_node *to,
                      struct error *err) {
        yaml_mark_t at = event->start_mark;
        const yaml_char_t *tag = event->data.scalar.tag, *anchor = event->data.scalar.anchor;
        bool is_map = event->type == YAML_MAPPING_START_EVENT;

        if (event->type == YAML_ALIAS_EVENT)
                return tree_alias(reading->tree, to, (const char *)event->data.alias.anchor, at,
                                  err);
        to->line = (unsigned)at.line + 1;
        if (event->type != YAML_SCALAR_EVENT) {
                to->kind = is_map ? TREE_MAP : TREE_LIST;
                tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
                anchor = is_map ? event->data.mapping_start.anchor
                                : event->data.sequence_start.anchor;
        }
        int r = check_tag(tag, at, err);
        if (r == 0)
                r = tree_count(reading->tree, at, err);
        if (r == 0 && event->type == YAML_SCALAR_EVENT) {
                to->text_len = event->data.scalar.length;
                to->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
                r = tree_text(reading->tree, (const char *)event->data.scalar.value, to->text_len,
                              at, &to->text, err);
        } else if (r == 0) {
                r = read_items(reading, to, at, err);
        }
        if (r == 0 && anchor)
                tree_anchor(reading->tree, (const char *)anchor, to);
        return r;
}

static int read_document(struct reading *reading, struct error *err) {
        struct tree_node *root = &reading->tree->root;
        _cleanup_(yaml_event_delete) yaml_event_t event = {0};
        bool has_root = false;
        int r;

        while ((r = next_event(reading, &event, err)) == 0 && event.type != YAML_STREAM_END_EVENT) {
                yaml_mark_t at = event.start_mark;
                if (event.type == YAML_DOCUMENT_START_EVENT && has_root)
                        return tree_fail(EINVAL, at, err, "expected one document, got a second");
                if (event.type == YAML_STREAM_START_EVENT ||
                    event.type == YAML_DOCUMENT_START_EVENT ||
                    event.type == YAML_DOCUMENT_END_EVENT)
                        continue;
                has_root = true;
                r = read_value(reading, &event, root, err);
                if (r < 0)
                        return r;
                if (tree_is_null(root) && root->text_len == 0)
                        return tree_fail(EINVAL, at, err, "the document is empty");
        }
        if (r == 0 && !has_root)
                return tree_fail(EINVAL, event.start_mark, err, "the document is empty");
        return r;
}

/* libyaml counts it as a column. */
static void skip_byte_order_mark(const char **text, size_t *len) {
        static const char mark[] = {'\xef', '\xbb', '\xbf'};

        if (*len < sizeof(mark) || memcmp(*text, mark, sizeof(mark)) != 0)
                return;
        *text += sizeof(mark);
        *len -= sizeof(mark);
}

int tree_parse(const char *text, size_t len, struct tree **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = xcalloc(1, sizeof(*tree));
        struct reading reading = {.tree = tree};

        if (len > TREE_MAX_BYTES)
                return error_set(err, E2BIG, "larger than %d bytes", TREE_MAX_BYTES);
        skip_byte_order_mark(&text, &len);
        reading.text = text;
        reading.len = len;
        if (!yaml_parser_initialize(&reading.parser))
                mem_exhausted();
        /* Otherwise a UTF-16 byte order mark would switch the encoding. */
        yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text, len);
        int r = read_document(&reading, err);
        yaml_parser_delete(&reading.parser);
        if (r == 0)
                *ret = TAKE_PTR(tree);
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
