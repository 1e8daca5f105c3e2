/*
 * A document of a configuration file: YAML (by libyaml) or JSON, as a bounded tree whose nodes
 * have their line, so that an error can point at it. Tags, merge keys, several documents and
 * duplicate keys are refused, and so are anchors and aliases unless they are allowed; size, depth
 * and number of nodes have ceilings.
 * Immutable after parsing.
 */
#pragma once

#include <jansson.h>
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
        unsigned line;   /* 1-based; 0: not known, as in an API object; see tree_parse() */
        unsigned column; /* 1-based */

        /* TREE_SCALAR; text is NUL-terminated and holds no other NUL */
        const char *text;
        size_t text_len;
        bool is_quoted; /* "0.65" is a string where 0.65 is a number */

        /* TREE_LIST and TREE_MAP, in the file's order */
        const struct tree_node *items;
        size_t count;

        /* Of an item of a TREE_MAP; else NULL */
        const char *key;
        unsigned key_line;
};

struct tree;

/**
 * tree_parse() - read a YAML 1.1 or JSON document
 *
 * Lines are known of all YAML, and of all JSON that is also YAML to libyaml: without surrogate
 * pairs in \u escapes, keys of more than 1,024 characters, and a few oddities of white space.
 * @ret: owned by the caller; an empty document is an error
 * Return: 0; -EINVAL with "line N, column N: what" in @err; -E2BIG past a ceiling
 */
_must_check_ int tree_parse(const char *text, size_t len, struct tree **ret, struct error *err);

/** tree_parse_aliased() - the same with anchors and aliases. An alias counts with all nodes that it
 * repeats */
_must_check_ int tree_parse_aliased(const char *text, size_t len, struct tree **ret,
                                    struct error *err);

/** tree_from_json() - the same tree from an API object; null scalars read as plain "null",
 * strings are quoted */
_must_check_ int tree_from_json(const json_t *json, struct tree **ret, struct error *err);

/**
 * tree_load_file() - tree_parse() of a file, read by file_read()
 *
 * Return: as tree_parse() and file_read(). @err does not name the path, as there
 */
_must_check_ int tree_load_file(const char *path, struct tree **ret, struct error *err);

void tree_free(struct tree *tree);
DEFINE_FREEP(struct tree, tree_free);

const struct tree_node *tree_root(const struct tree *tree);
/** tree_get() - the value of @key, NULL when absent or when @map is NULL or no map */
const struct tree_node *tree_get(const struct tree_node *map, const char *key);
/** tree_read_bool() - an unquoted word that sigs.k8s.io/yaml reads as a bool: also yes, on and n;
 * false: it is something else */
bool tree_read_bool(const struct tree_node *node, bool *ret);
/** tree_is_null() - an unquoted null, ~ or empty scalar */
bool tree_is_null(const struct tree_node *node);
