/*
 * Reading a document by tables: a table says which fields an object has, and this walks the tree
 * along it. Every message names line and path ("line 12: spec.priority[2].weight: expected a
 * number >= 0, got -1"). Private to policy_parse.c, which has the tables, and policy_rules.c, which
 * says what each field may hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"
#include "policy/policy.h"

enum { POLICY_PATH_MAX = 128 }; /* "spec.predicate[63].maxLimitPercent" and any other of ours */

struct policy_reader {
        struct policy *policy; /* what is being filled */
        bool is_strict;
        struct error *err;
        char path[POLICY_PATH_MAX]; /* where we are: "spec.priority[2].weight" */
};

/**
 * policy_read_fn - reads one scalar field
 * @node:  never NULL; a field that is absent comes as a null
 * @value: the member that the table's `offset` points at
 * Return: 0, or what policy_reader_expected() returned
 */
typedef int policy_read_fn(struct policy_reader *reader, const struct tree_node *node, void *value);

/* A field is a scalar (`read`), an object, a list of objects, or accepted unread (none of them). */
struct policy_field {
        const char *name;
        const char *alias; /* another spelling; NULL: none. Both at once is an error */
        bool is_required;  /* otherwise absent and null leave the value as it is */
        size_t offset;     /* of the value in the object's struct */
        policy_read_fn *read;
        const struct policy_object *object; /* its fields live in the same struct */
        const struct policy_list *list;
};

struct policy_object {
        const struct policy_field *fields; /* read in this order, whatever the document's */
        size_t field_count;
        bool is_open; /* other fields are somebody else's: no warning */
};

/* An array and its count in struct policy. */
struct policy_list {
        const struct policy_object *item;
        size_t item_bytes, items_offset, count_offset, count_max;
        /* What concerns an item and those before it; NULL: nothing */
        int (*check_item)(struct policy_reader *reader, const struct tree_node *node, size_t index);
        /* What concerns all of them; NULL: nothing. @node is the list */
        int (*check_list)(struct policy_reader *reader, const struct tree_node *node);
};

/** policy_read_object() - fill @target from @node; unknown fields become warnings */
_must_check_ int policy_read_object(struct policy_reader *reader, const struct tree_node *node,
                                    const struct policy_object *object, void *target);

/**
 * policy_reader_expected() - the error "line N: path: expected @fmt, got what @node is"
 * Return: -EINVAL
 */
int policy_reader_expected(struct policy_reader *reader, const struct tree_node *node,
                           const char *fmt, ...) _printf_(3, 4);
/** policy_reader_expected_in() - the same about a field of the object that is being read */
int policy_reader_expected_in(struct policy_reader *reader, const char *field,
                              const struct tree_node *node, const char *fmt, ...) _printf_(4, 5);
/** policy_reader_refuse() - the error "line N: path: @fmt", where "got ..." would not do */
int policy_reader_refuse(struct policy_reader *reader, const struct tree_node *node,
                         const char *fmt, ...) _printf_(3, 4);
/** policy_reader_warn() - note "line N: path: @fmt" in the policy */
void policy_reader_warn(struct policy_reader *reader, const struct tree_node *node, const char *fmt,
                        ...) _printf_(3, 4);

/** policy_read_text() - a string that is not null; @what is expected ("a metric's name") */
_must_check_ int policy_read_text(struct policy_reader *reader, const struct tree_node *node,
                                  const char *what, const char **ret);
/** policy_read_number() - a decimal number that is not quoted */
_must_check_ int policy_read_number(struct policy_reader *reader, const struct tree_node *node,
                                    const char *what, double *ret);
/** policy_read_integer() - a whole number that is not quoted */
_must_check_ int policy_read_integer(struct policy_reader *reader, const struct tree_node *node,
                                     const char *what, int64_t *ret);
/** policy_read_duration() - a Go duration, quoted or not; none that would be cut to 0 */
_must_check_ int policy_read_duration(struct policy_reader *reader, const struct tree_node *node,
                                      const char *what, int64_t *ret_ms);
