/*
 * Builds a tree for the two readers: of YAML, and of jansson's objects. Private to
 * the tree module. The builder has all rules that do not depend on syntax: ceilings, duplicate
 * keys, NUL in a text.
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

/** tree_new() - a tree whose root is empty */
struct tree *tree_new(void);
/** tree_new_root() - the root, to be filled */
struct tree_node *tree_new_root(struct tree *tree);

/** tree_fail() - error_set() with the prefix "line N, column N: " */
int tree_fail(int code, struct tree_mark at, struct error *err, const char *fmt, ...)
        _printf_(4, 5);

/* Each fills @node, whose key stays, and returns 0, -EINVAL or -E2BIG. Texts are copied. */
_must_check_ int tree_scalar(struct tree *tree, struct tree_node *node, const char *text,
                             size_t len, bool is_quoted, struct tree_mark at, struct error *err);
/** tree_begin() - a list or map; its items are read before tree_end(), which copies them */
_must_check_ int tree_begin(struct tree *tree, struct tree_node *node, enum tree_kind kind,
                            struct tree_mark at, struct error *err);
void tree_end(struct tree *tree, struct tree_node *node, const struct tree_node *items,
              size_t count);
/** tree_anchor() - name a complete value, for aliases */
void tree_anchor(struct tree *tree, const char *name, const struct tree_node *node);
/** tree_alias() - the value of that name again; all of its nodes count */
_must_check_ int tree_alias(struct tree *tree, struct tree_node *node, const char *name,
                            struct tree_mark at, struct error *err);
/** tree_key() - the key of an item of a map
 * @keys: those of the items before it, empty at first; released by the caller */
_must_check_ int tree_key(struct tree *tree, struct tree_node *item, struct strmap *keys,
                          const char *text, size_t len, struct tree_mark at, struct error *err);

/** tree_read_yaml() - fill the root of @tree */
_must_check_ int tree_read_yaml(struct tree *tree, const char *text, size_t len, struct error *err);
