#include "codec/tree_builder.h"

#include <assert.h>
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
};

/* A value for aliases, which share its immutable content. */
struct tree_anchor {
        const char *name;
        struct tree_node node;
        size_t begin_count; /* number of nodes before it */
        size_t node_count, height;
};

static void *tree_alloc(struct tree *tree, size_t bytes) {
        struct tree_piece *piece = xmalloc(sizeof(*piece) + bytes);

        piece->next = tree->pieces;
        tree->pieces = piece;
        return piece->data;
}

static const char *tree_text(struct tree *tree, const char *text, size_t len) {
        char *copy = tree_alloc(tree, len + 1);

        if (len > 0)
                memcpy(copy, text, len);
        copy[len] = '\0';
        return copy;
}

void tree_free(struct tree *tree) {
        if (!tree)
                return;
        for (struct tree_piece *piece = tree->pieces, *next = NULL; piece; piece = next) {
                next = piece->next;
                free(piece);
        }
        free(tree);
}

const struct tree_node *tree_root(const struct tree *tree) {
        return &tree->root;
}

void tree_builder_init(struct tree_builder *builder, bool allows_aliases) {
        *builder = (struct tree_builder){
                .tree = xcalloc(1, sizeof(struct tree)),
                .allows_aliases = allows_aliases,
        };
}

void tree_builder_done(struct tree_builder *builder) {
        for (size_t i = 0; i < builder->depth; i++)
                strmap_done(&builder->frames[i].keys);
        strmap_done(&builder->anchors);
        free(builder->children);
        tree_free(builder->tree);
        *builder = (struct tree_builder){0};
}

int tree_builder_fail(int code, struct tree_mark at, struct error *err, const char *fmt, ...) {
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        if (at.line == 0)
                return error_set(err, code, "%s", what);
        return error_set(err, code, "line %u, column %u: %s", at.line, at.column, what);
}

bool tree_builder_wants_key(const struct tree_builder *builder) {
        const struct tree_frame *frame = builder->depth > 0 ? &builder->frames[builder->depth - 1]
                                                            : NULL;

        return frame && frame->kind == TREE_MAP && !frame->key;
}

static void tree_builder_add(struct tree_builder *builder, struct tree_node node, size_t height,
                             struct tree_anchor *anchor) {
        if (anchor) {
                anchor->node = node;
                anchor->node_count = builder->node_count - anchor->begin_count;
                anchor->height = height;
                (void)strmap_put(&builder->anchors, anchor->name, strlen(anchor->name), anchor);
        }
        if (builder->depth == 0) {
                assert(!builder->has_root);
                builder->tree->root = node;
                builder->has_root = true;
                return;
        }
        assert(!tree_builder_wants_key(builder));
        struct tree_frame *frame = &builder->frames[builder->depth - 1];
        node.key = TAKE_PTR(frame->key);
        node.key_line = frame->key_line;
        mem_grow(&builder->children, builder->child_count, &builder->child_cap);
        builder->children[builder->child_count++] = node;
        frame->height = size_max(frame->height, height);
}

static int tree_builder_count(struct tree_builder *builder, size_t count, struct tree_mark at,
                              struct error *err) {
        if (count > TREE_MAX_NODES - builder->node_count)
                return tree_builder_fail(E2BIG, at, err, "more than %d values", TREE_MAX_NODES);
        builder->node_count += count;
        return 0;
}

static int refuse_depth(struct tree_mark at, struct error *err) {
        return tree_builder_fail(E2BIG, at, err, "nested deeper than %d levels", TREE_MAX_DEPTH);
}

static int tree_refuse_nul(const char *text, size_t len, struct tree_mark at, struct error *err) {
        if (len > 0 && memchr(text, '\0', len))
                return tree_builder_fail(EINVAL, at, err, "a NUL character in the text");
        return 0;
}

int tree_builder_begin(struct tree_builder *builder, enum tree_kind kind, struct tree_mark at,
                       struct error *err) {
        int r = tree_builder_count(builder, 1, at, err);

        if (r < 0)
                return r;
        if (builder->depth == TREE_MAX_DEPTH)
                return refuse_depth(at, err);
        builder->frames[builder->depth++] = (struct tree_frame){
                .kind = kind,
                .at = at,
                .first = builder->child_count,
                .anchor = TAKE_PTR(builder->anchor),
        };
        return 0;
}

void tree_builder_end(struct tree_builder *builder) {
        assert(builder->depth > 0);
        struct tree_frame *frame = &builder->frames[builder->depth - 1];
        assert(!frame->key);
        struct tree_node node = {
                .kind = frame->kind,
                .line = frame->at.line,
                .column = frame->at.column,
                .count = builder->child_count - frame->first,
        };

        if (node.count > 0) {
                size_t bytes = node.count * sizeof(*node.items);
                node.items = memcpy(tree_alloc(builder->tree, bytes),
                                    &builder->children[frame->first], bytes);
        }
        builder->child_count = frame->first;
        strmap_done(&frame->keys);
        builder->depth--;
        tree_builder_add(builder, node, frame->height + 1, frame->anchor);
}

int tree_builder_key(struct tree_builder *builder, const char *text, size_t len,
                     struct tree_mark at, struct error *err) {
        assert(tree_builder_wants_key(builder));
        struct tree_frame *frame = &builder->frames[builder->depth - 1];
        int r = tree_refuse_nul(text, len, at, err);

        if (r < 0)
                return r;
        uintptr_t first_line = (uintptr_t)strmap_put(&frame->keys, text, len,
                                                     (void *)((uintptr_t)at.line + 1));
        if (first_line > 0)
                return tree_builder_fail(EINVAL, at, err, "duplicate key '%.*s', first on line %u",
                                         (int)size_min(len, 128), text, (unsigned)first_line - 1);
        frame->key = tree_text(builder->tree, text, len);
        frame->key_line = at.line;
        return 0;
}

int tree_builder_scalar(struct tree_builder *builder, const char *text, size_t len, bool is_quoted,
                        struct tree_mark at, struct error *err) {
        int r = tree_builder_count(builder, 1, at, err);

        if (r == 0)
                r = tree_refuse_nul(text, len, at, err);
        if (r < 0)
                return r;
        const struct tree_node node = {
                .kind = TREE_SCALAR,
                .line = at.line,
                .column = at.column,
                .text = tree_text(builder->tree, text, len),
                .text_len = len,
                .is_quoted = is_quoted,
        };
        tree_builder_add(builder, node, 0, TAKE_PTR(builder->anchor));
        return 0;
}

void tree_builder_anchor(struct tree_builder *builder, const char *name) {
        struct tree_anchor *anchor = tree_alloc(builder->tree, sizeof(*anchor));

        *anchor = (struct tree_anchor){
                .name = tree_text(builder->tree, name, strlen(name)),
                .begin_count = builder->node_count,
        };
        builder->anchor = anchor;
}

int tree_builder_alias(struct tree_builder *builder, const char *name, struct tree_mark at,
                       struct error *err) {
        const struct tree_anchor *anchor = strmap_get(&builder->anchors, name, strlen(name));

        if (!anchor)
                return tree_builder_fail(EINVAL, at, err, "no anchor &%.64s before the alias",
                                         name);
        if (builder->depth + anchor->height > TREE_MAX_DEPTH)
                return refuse_depth(at, err);
        int r = tree_builder_count(builder, anchor->node_count, at, err);
        if (r == 0)
                tree_builder_add(builder, anchor->node, anchor->height, NULL);
        return r;
}

struct tree *tree_builder_take(struct tree_builder *builder) {
        assert(builder->has_root && builder->depth == 0);
        return TAKE_PTR(builder->tree);
}
