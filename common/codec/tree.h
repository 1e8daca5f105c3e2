/*
 * A configuration document as a tree whose nodes know their lines, for errors. libyaml reads it:
 * the document is YAML, and so JSON as well, except for surrogate pairs in \u escapes. Tags, merge
 * keys, several documents and duplicate keys are errors. An alias repeats all nodes of its anchor.
 * Size, depth and number of nodes have ceilings. A tree is immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

enum {
        TREE_MAX_BYTES = 1 << 20,
        TREE_MAX_DEPTH = 32,
        TREE_MAX_NODES = 100000,
};

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree_node {
        enum tree_kind kind;
        unsigned line; /* 1-based */

        /* TREE_SCALAR; the text is NUL-terminated and has no other NUL */
        const char *text;
        size_t text_len;
        bool is_quoted; /* "0.65" is a string, 0.65 is a number */

        /* TREE_LIST and TREE_MAP, in the file's order */
        const struct tree_node *items;
        size_t count;

        /* If this is an item of a TREE_MAP; else NULL */
        const char *key;
        unsigned key_line;
};

struct tree;

/**
 * tree_parse() - read a YAML 1.1 document
 * @ret: owned by the caller; an empty document is an error
 * Return: 0; -EINVAL with "line N, column N: what" in @err; -E2BIG past a ceiling
 */
_must_check_ int tree_parse(const char *text, size_t len, struct tree **ret, struct error *err);

/**
 * tree_load_file() - file_read() and tree_parse()
 * Return: as both. @err does not name the path
 */
_must_check_ int tree_load_file(const char *path, struct tree **ret, struct error *err);

void tree_free(struct tree *tree);
DEFINE_FREEP(struct tree, tree_free);

const struct tree_node *tree_root(const struct tree *tree);
/** tree_get() - the value of @key; NULL if it is absent, or if @map is NULL or not a map */
const struct tree_node *tree_get(const struct tree_node *map, const char *key);
/** tree_read_bool() - read an unquoted word that sigs.k8s.io/yaml reads as a bool, such as yes, on
 * or n. Return: false if it is anything else */
bool tree_read_bool(const struct tree_node *node, bool *ret);
/** tree_is_null() - whether @node is an unquoted null, ~ or empty scalar */
bool tree_is_null(const struct tree_node *node);
