/*
 * Builds a tree for the two readers: of YAML, and of jansson's objects. Private to the tree module.
 * The builder has all rules that do not depend on syntax: ceilings, duplicate keys, NUL in a text.
 * A reader calls begin, end, key and scalar in document order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strmap.h"
#include "codec/tree.h"

/* A 1-based place in the document; line 0: unknown, as in jansson's objects. */
struct tree_mark {
        unsigned line;
        unsigned column;
};

/* An open list or map. */
struct tree_frame {
        enum tree_kind kind;
        struct tree_mark at;
        size_t first; /* index of its first child in children */
        const char *key;
        unsigned key_line;
        struct strmap keys;         /* its keys so far; the value is the line + 1 */
        struct tree_anchor *anchor; /* NULL: none */
        size_t height;              /* of its highest child; a scalar has height 0 */
};

struct tree_builder {
        struct tree *tree;
        struct tree_frame frames[TREE_MAX_DEPTH];
        size_t depth;
        struct tree_node *children; /* of all open frames, the innermost last */
        size_t child_count, child_cap;
        size_t node_count;
        bool has_root;
        bool allows_aliases;
        struct strmap anchors;      /* of complete values */
        struct tree_anchor *anchor; /* of the next value; NULL: none */
};

void tree_builder_init(struct tree_builder *builder, bool allows_aliases);
void tree_builder_done(struct tree_builder *builder);

/** tree_builder_fail() - error_set() with the prefix "line N, column N: " */
int tree_builder_fail(int code, struct tree_mark at, struct error *err, const char *fmt, ...)
        _printf_(4, 5);

/** tree_builder_wants_key() - whether the innermost open container is a map without a next key */
bool tree_builder_wants_key(const struct tree_builder *builder);

/* Each returns 0, -EINVAL or -E2BIG. The text is copied. */
_must_check_ int tree_builder_begin(struct tree_builder *builder, enum tree_kind kind,
                                    struct tree_mark at, struct error *err);
void tree_builder_end(struct tree_builder *builder);
_must_check_ int tree_builder_key(struct tree_builder *builder, const char *text, size_t len,
                                  struct tree_mark at, struct error *err);
_must_check_ int tree_builder_scalar(struct tree_builder *builder, const char *text, size_t len,
                                     bool is_quoted, struct tree_mark at, struct error *err);

/** tree_builder_anchor() - name the next value, for aliases */
void tree_builder_anchor(struct tree_builder *builder, const char *name);
/** tree_builder_alias() - add the value of that name again; all its nodes count */
_must_check_ int tree_builder_alias(struct tree_builder *builder, const char *name,
                                    struct tree_mark at, struct error *err);

/** tree_builder_take() - the tree, owned by the caller; every container must have ended */
struct tree *tree_builder_take(struct tree_builder *builder);

/** tree_read_yaml() - read a document into @builder, for tree_builder_take() */
_must_check_ int tree_read_yaml(struct tree_builder *builder, const char *text, size_t len,
                                struct error *err);
