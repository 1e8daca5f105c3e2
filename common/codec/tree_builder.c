#include "codec/tree_builder.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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

struct tree *tree_new(void) {
        return xcalloc(1, sizeof(struct tree));
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

struct tree_node *tree_new_root(struct tree *tree) {
        return &tree->root;
}

int tree_fail(int code, struct tree_mark at, struct error *err, const char *fmt, ...) {
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        if (at.line == 0)
                return error_set(err, code, "%s", what);
        return error_set(err, code, "line %u, column %u: %s", at.line, at.column, what);
}

/* A NUL-terminated copy, which has no other NUL. */
static int tree_text(struct tree *tree, const char *text, size_t len, struct tree_mark at,
                     const char **ret, struct error *err) {
        if (len > 0 && memchr(text, '\0', len))
                return tree_fail(EINVAL, at, err, "a NUL character in the text");
        char *copy = tree_alloc(tree, len + 1);
        if (len > 0)
                memcpy(copy, text, len);
        *ret = copy;
        return 0;
}

static int tree_count(struct tree *tree, struct tree_mark at, struct error *err) {
        if (tree->node_count++ == TREE_MAX_NODES)
                return tree_fail(E2BIG, at, err, "more than %d values", TREE_MAX_NODES);
        return 0;
}

static int tree_descend(struct tree *tree, struct tree_mark at, struct error *err) {
        if (tree->depth++ == TREE_MAX_DEPTH)
                return tree_fail(E2BIG, at, err, "nested deeper than %d levels", TREE_MAX_DEPTH);
        return 0;
}

int tree_scalar(struct tree *tree, struct tree_node *node, const char *text, size_t len,
                bool is_quoted, struct tree_mark at, struct error *err) {
        node->kind = TREE_SCALAR;
        node->line = at.line;
        node->column = at.column;
        node->text_len = len;
        node->is_quoted = is_quoted;
        int r = tree_count(tree, at, err);
        return r < 0 ? r : tree_text(tree, text, len, at, &node->text, err);
}

int tree_begin(struct tree *tree, struct tree_node *node, enum tree_kind kind, struct tree_mark at,
               struct error *err) {
        node->kind = kind;
        node->line = at.line;
        node->column = at.column;
        int r = tree_count(tree, at, err);
        return r < 0 ? r : tree_descend(tree, at, err);
}

void tree_end(struct tree *tree, struct tree_node *node, const struct tree_node *items,
              size_t count) {
        tree->depth--;
        node->count = count;
        if (count > 0)
                node->items = memcpy(tree_alloc(tree, count * sizeof(*items)), items,
                                     count * sizeof(*items));
}

static int tree_count_all(struct tree *tree, const struct tree_node *node, struct tree_mark at,
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

void tree_anchor(struct tree *tree, const char *name, const struct tree_node *node) {
        struct tree_node *copy = tree_alloc(tree, sizeof(*copy));

        *copy = *node;
        (void)strmap_put(&tree->anchors, name, strlen(name), copy);
}

int tree_alias(struct tree *tree, struct tree_node *node, const char *name, struct tree_mark at,
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

int tree_key(struct tree *tree, struct tree_node *item, struct strmap *keys, const char *text,
             size_t len, struct tree_mark at, struct error *err) {
        uintptr_t first_line = (uintptr_t)strmap_put(keys, text, len,
                                                     (void *)((uintptr_t)at.line + 1));

        if (first_line > 0)
                return tree_fail(EINVAL, at, err, "duplicate key '%.*s', first on line %u",
                                 (int)size_min(len, 128), text, (unsigned)first_line - 1);
        item->key_line = at.line;
        return tree_text(tree, text, len, at, &item->key, err);
}
