/*
 * The names of the table's rows: an index from name to row, the text of each name in replies, which
 * is rendered once, and why a node is closed, which changes as rarely. Immutable and shared by
 * reference count; any thread may read it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

enum { NODE_NAME_MAX = 253 }; /* a DNS subdomain; a byte takes at most six when escaped */

#define NODE_ROW_NONE UINT32_MAX

struct node_name {
        const char *name;      /* name_bytes, without a NUL */
        const char *entry;     /* `{"Host":"name","Score":` */
        const char *closed_by; /* node_closed_by(); NULL: the node is open */
        uint16_t name_bytes;
        uint16_t entry_bytes;
};

struct node_names;

/**
 * node_names_new() - index @count names
 * @names: NUL-terminated, at most NODE_NAME_MAX bytes, all different; copied
 * @closed_by: [row]: copied; NULL: it is open
 * Return: with one reference
 */
struct node_names *node_names_new(const char *const *names, const char *const *closed_by,
                                  size_t count);
struct node_names *node_names_ref(struct node_names *names);
void node_names_unref(struct node_names *names);

/** node_names_at() - the name of @row, which is below the count */
const struct node_name *node_names_at(const struct node_names *names, uint32_t row);
/** node_names_find() - the row of a name, or NODE_ROW_NONE */
uint32_t node_names_find(const struct node_names *names, const char *name, size_t len);
/** node_name_quoted() - the escaped name with its quotes; a part of the entry */
static inline const char *node_name_quoted(const struct node_name *name, size_t *ret_len) {
        *ret_len = (size_t)name->entry_bytes - strlen("{\"Host\":") - strlen(",\"Score\":");
        return name->entry + strlen("{\"Host\":");
}

static inline bool node_name_is(const struct node_name *row, const char *name, size_t len) {
        return row->name_bytes == len && memcmp(row->name, name, len) == 0;
}
